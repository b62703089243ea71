import { lazyRouteComponent, useParams } from "@tanstack/react-router"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectState } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { applicationColumns, applicationSource } from "../application/application-list.tsx"
import { ActivationButton, DeleteSection, renameRow } from "../form/index.ts"
import { dateRows, EmptyList, History, Listing, StateBadge } from "../list/index.ts"
import {
  call,
  copyableFact,
  FactsSection,
  IfPermitted,
  LinkButton,
  Page,
  PagePart,
  Section,
  t,
  useRead,
  useSelectOwner,
} from "../shell/index.ts"
import { Authorizations } from "./authorizations.tsx"
import type { ProjectPart } from "./part.ts"
import { Roles } from "./roles.tsx"
import { ProjectRules } from "./rules.tsx"

// Loaded after the page, because these sections are further down.
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
  useSelectOwner(project?.organizationId)
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
          subject={project.name}
          isOn={isActive(project)}
          consequence={t("projects.deactivate_text")}
        />
      }
      scope={{ projectId: projectId }}
    >
      <ProjectApplications projectId={projectId} />
      <Roles projectId={projectId} />
      <Authorizations project={project} />
      <PagePart>
        <Grants project={project} />
      </PagePart>
      <ProjectRules project={project} />
      <PagePart>
        <Administrators of={{ case: "projectId", value: projectId }} />
      </PagePart>
      <ProjectDetails project={project} />
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

function ProjectApplications({ projectId }: { readonly projectId: string }) {
  const create = (
    <IfPermitted needs={ApplicationService.method.createApplication}>
      <LinkButton kind="primary" to="/projects/$projectId/new-application" params={{ projectId }}>
        {t("applications.create")}
      </LinkButton>
    </IfPermitted>
  )
  return (
    <Section title={t("nav.applications")} actions={create}>
      <Listing
        name="applications"
        caption={t("nav.applications")}
        {...applicationSource({ projectId })}
        columns={applicationColumns()}
        keyOf={(application) => application.applicationId}
        empty={<EmptyList family="applications" action={create} />}
      />
    </Section>
  )
}

function ProjectDetails({ project }: ProjectPart) {
  const { projectId, name } = project
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        renameRow(t("field.name"), name, updateProject, (to) =>
          call(updateProject, { projectId, name: to }),
        ),
        copyableFact(t("field.project_id"), projectId),
        ...dateRows(project),
      ]}
    />
  )
}
