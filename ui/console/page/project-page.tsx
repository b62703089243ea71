import { type Project, ProjectState } from "../../../src/gen/core/project/v2/project_pb.ts"
import { EmptyState } from "../../kit/empty-state.tsx"
import { Administrators } from "../administrators.tsx"
import { applicationColumns, readApplications } from "../application-list.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { Copyable, Detail, Section } from "../detail.tsx"
import { History } from "../history.tsx"
import { useHouse } from "../house.ts"
import { LinkButton } from "../link.tsx"
import { Listing } from "../listing.tsx"
import { useJoined, useLoad, useReadings } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { Authorizations } from "../project/authorizations.tsx"
import { Grants } from "../project/grants.tsx"
import { Roles } from "../project/roles.tsx"
import { type ProjectPart, Rules } from "../project/rules.tsx"
import { Rename } from "../rename.tsx"
import { go } from "../route.ts"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

export function ProjectPage({ projectId }: { readonly projectId: string }) {
  const { t, core } = useHouse()
  const crumbs = [{ label: t("nav.projects"), to: { page: "projects" } as const }]
  const loaded = useLoad(`project ${projectId}`, "", async (signal) => {
    const { project } = await core.projects.getProject({ projectId }, { signal })
    if (!project) throw new Error(t("detail.failed"))
    return project
  })
  // A role that goes is taken from everybody, and whatever changes is history.
  const readings = useReadings()
  useJoined(readings, loaded.reload)
  const onChanged = readings.reload
  return (
    <Detail loaded={loaded} crumbs={crumbs}>
      {(project) => (
        <PageFrame
          title={project.name}
          crumbs={crumbs}
          badge={<StateBadge state={isActive(project) ? "active" : "inactive"} />}
          actions={<Turn project={project} onChanged={onChanged} />}
        >
          <Applications projectId={projectId} />
          <Roles projectId={projectId} readings={readings} />
          <Authorizations project={project} readings={readings} />
          <Grants project={project} readings={readings} />
          <Rules project={project} onChanged={onChanged} />
          <Administrators of={{ case: "projectId", value: projectId }} readings={readings} />
          <Facts project={project} onChanged={onChanged} />
          <History
            about={`project ${projectId}`}
            readings={readings}
            read={(part, options) =>
              core.management.listProjectChanges({ ...part, projectId }, options)
            }
          />
          <Remove project={project} />
        </PageFrame>
      )}
    </Detail>
  )
}

const isActive = (project: Project) => project.state !== ProjectState.INACTIVE

function Turn({ project, onChanged }: ProjectPart) {
  const { t, core } = useHouse()
  const { projectId } = project
  const active = isActive(project)
  const act = async () => {
    if (active) await core.projects.deactivateProject({ projectId })
    else await core.projects.activateProject({ projectId })
    await onChanged()
  }
  return <ActionButton label={t(active ? "action.deactivate" : "action.activate")} act={act} />
}

function Applications({ projectId }: { readonly projectId: string }) {
  const house = useHouse()
  const { t } = house
  const to = { page: "new-application", projectId } as const
  const create = (
    <LinkButton kind="primary" to={to}>
      {t("applications.create")}
    </LinkButton>
  )
  const empty = (
    <EmptyState title={t("applications.empty.title")} action={create}>
      {t("applications.empty.text")}
    </EmptyState>
  )
  return (
    <Section title={t("nav.applications")} actions={create}>
      <Listing
        caption={t("nav.applications")}
        scope={projectId}
        read={(asked, signal) => readApplications(house, { ...asked, projectId }, signal)}
        columns={applicationColumns(house)}
        keyOf={(application) => application.applicationId}
        empty={empty}
      />
    </Section>
  )
}

function Facts({ project, onChanged }: ProjectPart) {
  const { t, core } = useHouse()
  const { projectId, name, creationDate, changeDate } = project
  const rename = async (wanted: string) => {
    await core.projects.updateProject({ projectId, name: wanted })
    await onChanged()
  }
  return (
    <Section title={t("detail.about")}>
      <dl className="facts">
        <dt>{t("field.name")}</dt>
        <dd>
          <Rename name={name} act={rename} />
        </dd>
        <dt>{t("field.project_id")}</dt>
        <dd>
          <Copyable value={projectId} what={t("field.project_id")} />
        </dd>
        <dt>{t("field.created")}</dt>
        <dd>
          <Time at={creationDate} />
        </dd>
        <dt>{t("field.changed")}</dt>
        <dd>
          <Time at={changeDate} />
        </dd>
      </dl>
    </Section>
  )
}

function Remove({ project }: { readonly project: Project }) {
  const { t, core } = useHouse()
  const { projectId, name } = project
  const act = async () => {
    await core.projects.deleteProject({ projectId })
    go({ page: "projects" }, "replace")
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet">{t("projects.delete_text")}</p>
      <div className="row">
        <DeleteButton
          name={name}
          title={t("projects.delete")}
          consequence={t("projects.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
