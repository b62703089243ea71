import { lazyRouteComponent, useParams } from "@tanstack/react-router"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectState } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { applicationColumns, applicationsOf } from "../application/application-list.tsx"
import { ActivationButton, DeleteSection, renamed } from "../form/index.ts"
import { dateFacts, EmptyList, History, Listing, StateBadge } from "../list/index.ts"
import {
  call,
  copied,
  FactsSection,
  LinkButton,
  May,
  Page,
  Part,
  Section,
  t,
  useBelongsTo,
  useRead,
} from "../shell/index.ts"
import { Authorizations } from "./authorizations.tsx"
import type { ProjectPart } from "./part.ts"
import { Roles } from "./roles.tsx"
import { Rules } from "./rules.tsx"

// What stands further down is loaded once the page stands.
const Administrators = lazyRouteComponent(
  () => import("../administrator/administrators.tsx"),
  "Administrators",
)
const Grants = lazyRouteComponent(() => import("./grants.tsx"), "Grants")

const { getProject, updateProject, deleteProject, activateProject, deactivateProject } =
  ProjectService.method

export function ProjectPage() {
  const { projectId } = useParams({ from: "/projects/$projectId" })
  const { project } = useRead(getProject, { projectId })
  useBelongsTo(project?.organizationId)
  if (!project) return null
  return (
    <Page
      title={project.name}
      crumbs={[{ label: t("nav.projects"), link: { to: "/projects" } }]}
      badge={<StateBadge isOn={isActive(project)} />}
      actions={
        <ActivationButton
          on={activateProject}
          off={deactivateProject}
          of={{ projectId }}
          what={project.name}
          isOn={isActive(project)}
          consequence={t("projects.deactivate_text")}
        />
      }
      scope={{ held: projectId }}
    >
      <Applications projectId={projectId} />
      <Roles projectId={projectId} />
      <Authorizations project={project} />
      <Part>
        <Grants project={project} />
      </Part>
      <Rules project={project} />
      <Part>
        <Administrators of={{ case: "projectId", value: projectId }} />
      </Part>
      <About project={project} />
      <History of={{ case: "projectId", value: projectId }} />
      <DeleteSection
        family="projects"
        name={project.name}
        by={deleteProject}
        of={{ projectId }}
        to={{ to: "/projects" }}
      />
    </Page>
  )
}

const isActive = ({ state }: ProjectPart["project"]) => state !== ProjectState.INACTIVE

function Applications({ projectId }: { readonly projectId: string }) {
  const create = (
    <May needs={ApplicationService.method.createApplication}>
      <LinkButton kind="primary" to="/projects/$projectId/new-application" params={{ projectId }}>
        {t("applications.create")}
      </LinkButton>
    </May>
  )
  return (
    <Section title={t("nav.applications")} actions={create}>
      <Listing
        name="applications"
        caption={t("nav.applications")}
        {...applicationsOf({ projectId })}
        columns={applicationColumns()}
        keyOf={(application) => application.applicationId}
        empty={<EmptyList family="applications" action={create} />}
      />
    </Section>
  )
}

function About({ project }: ProjectPart) {
  const { projectId, name } = project
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        renamed(t("field.name"), name, updateProject, (to) =>
          call(updateProject, { projectId, name: to }),
        ),
        copied(t("field.project_id"), projectId),
        ...dateFacts(project),
      ]}
    />
  )
}
