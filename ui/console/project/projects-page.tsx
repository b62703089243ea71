import { useNavigate } from "@tanstack/react-router"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  GrantedProjectState,
  type Project,
  ProjectFieldName,
  ProjectOrganizationIDFilter_Type,
  ProjectState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Badge, Button } from "../../kit/index.ts"
import { defineForm, formId } from "../form/index.ts"
import {
  EmptyList,
  type ListColumn,
  Listing,
  paginationOf,
  StateBadge,
  Time,
  toPage,
  useCreating,
  useFilter,
} from "../list/index.ts"
import { call, IfPermitted, Link, Page, t, useOrganization } from "../shell/index.ts"
import { FirstSteps } from "../start/first-steps.tsx"

const { createProject, listProjects } = ProjectService.method
const method = TextFilterMethod.CONTAINS_IGNORE_CASE

export function ProjectsPage() {
  const organization = useOrganization()
  const navigate = useNavigate()
  const [creating, setCreating] = useCreating("project")
  const create = (
    <IfPermitted needs={createProject}>
      <Button kind="primary" onClick={() => setCreating(true)}>
        {t("projects.create")}
      </Button>
    </IfPermitted>
  )
  const projectForm = defineForm({
    initial: { name: "" },
    refusals: { name: ["project."] },
    save: ({ name }) => call(createProject, { organizationId: organization.id, name: name.trim() }),
    done: ({ projectId }) => navigate({ to: "/projects/$projectId", params: { projectId } }),
    fields: ({ text }) =>
      text("name", t("field.name"), { hint: t("projects.name_hint"), required: true }),
  })
  const isInternal = useFilter("show", ["own", "internal"])[0] === "internal"
  const type = ProjectOrganizationIDFilter_Type.OWNED_OR_GRANTED
  const own = {
    case: "organizationIdFilter",
    value: { organizationId: organization.id, type },
  } as const
  const internal = { case: "internalFilter", value: isInternal } as const
  const named = (projectName: string) =>
    ({ case: "projectNameFilter", value: { projectName, method } }) as const
  return (
    <Page title={t("nav.projects")} owner={organization.name} actions={create}>
      <FirstSteps />
      <Listing
        caption={t("nav.projects")}
        method={listProjects}
        toRequest={(query) => ({
          pagination: paginationOf(query),
          sortingColumn:
            query.by === "created" ? ProjectFieldName.CREATION_DATE : ProjectFieldName.NAME,
          filters: [
            { filter: own },
            { filter: internal },
            ...(query.text ? [{ filter: named(query.text) }] : []),
          ],
        })}
        find={({ projects, pagination }) => toPage(projects, pagination)}
        columns={projectColumns()}
        keyOf={(project) => project.projectId}
        empty={<EmptyList family="projects" action={create} />}
      />
      {creating &&
        projectForm({
          id: formId("project", "new"),
          title: t("projects.create"),
          submit: t("projects.create"),
          close: () => setCreating(false),
        })}
    </Page>
  )
}

/** Whether the project belongs to another organization, which has granted it. */
const isGranted = ({ grantedOrganizationId }: Project) => grantedOrganizationId !== undefined

const isActive = ({ state, grantedState }: Project) =>
  state !== ProjectState.INACTIVE && grantedState !== GrantedProjectState.INACTIVE

const projectColumns = (): readonly ListColumn<Project>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: (project) => (
      <Link
        className="row-link"
        to={isGranted(project) ? "/granted-projects/$projectId" : "/projects/$projectId"}
        params={{ projectId: project.projectId }}
      >
        {project.name}
      </Link>
    ),
  },
  {
    label: t("field.state"),
    cell: (project) => (
      <span className="badges">
        {isGranted(project) && <Badge>{t("granted.badge")}</Badge>}
        <StateBadge isOn={isActive(project)} />
      </span>
    ),
  },
  {
    label: t("field.created"),
    sort: "created",
    cell: ({ creationDate }) => <Time at={creationDate} />,
  },
]
