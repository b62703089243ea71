import { Badge } from "../../kit/badge.tsx"
import { ApiProof, methodOf } from "../application/api-proof.tsx"
import type { ApplicationPart, Observed } from "../application/change.ts"
import { Flows } from "../application/flows.tsx"
import { Keys } from "../application/keys.tsx"
import { Problems } from "../application/problems.tsx"
import { authOf } from "../application/protocol.ts"
import { RefusedRequests } from "../application/refused.tsx"
import { Secrets } from "../application/secrets.tsx"
import { SignOut } from "../application/sign-out.tsx"
import { Tokens } from "../application/tokens.tsx"
import { WaysBack } from "../application/ways-back.tsx"
import { isActive, kindOf } from "../application-list.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { Copyable, Detail, Section } from "../detail.tsx"
import { History } from "../history.tsx"
import { useHouse } from "../house.ts"
import { useJoined, useLoad, useReadings } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { Rename } from "../rename.tsx"
import { go } from "../route.ts"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

export function ApplicationPage({ applicationId }: { readonly applicationId: string }) {
  const { t, core } = useHouse()
  const loaded = useLoad(`application ${applicationId}`, "", async (signal) => {
    const { application } = await core.applications.getApplication({ applicationId }, { signal })
    if (!application) throw new Error(t("detail.failed"))
    const { project } = await core.projects.getProject(
      { projectId: application.projectId },
      { signal },
    )
    return { application, projectName: project?.name ?? application.projectId }
  })
  const readings = useReadings()
  useJoined(readings, loaded.reload)
  const list = { label: t("nav.applications"), to: { page: "applications" } as const }
  return (
    <Detail loaded={loaded} crumbs={[list]}>
      {({ application, projectName }) => {
        const { projectId, name } = application
        const crumbs = [
          { label: t("nav.projects"), to: { page: "projects" } as const },
          { label: projectName, to: { page: "project", projectId } as const },
        ]
        const part = { application, readings, onChanged: readings.reload }
        return (
          <PageFrame
            title={name}
            crumbs={crumbs}
            badge={<State application={application} />}
            actions={<Turn {...part} />}
          >
            <Protocol {...part} />
            <RefusedRequests application={application} />
            <About {...part} />
            <History
              about={`application ${applicationId}`}
              readings={readings}
              read={(asked, options) =>
                core.management.listAppChanges(
                  { ...asked, projectId, appId: applicationId },
                  options,
                )
              }
            />
            <Remove application={application} />
          </PageFrame>
        )
      }}
    </Detail>
  )
}

/** What an application is in OAuth's words, the everyday first. */
function Protocol({ readings, ...part }: ApplicationPart & Observed) {
  const { application } = part
  const own = { application, readings }
  const { configuration } = application
  if (configuration.case === "apiConfiguration") {
    const api = configuration.value
    const proof = proofs[methodOf(api)]
    return (
      <>
        <Connection application={application} proof={proof} />
        <ApiProof {...part} api={api} />
        {proof === "secret" && <Secrets {...own} />}
        <Keys {...own} />
      </>
    )
  }
  if (configuration.case !== "oidcConfiguration") return null
  const oidc = configuration.value
  const proof = proofs[authOf(oidc)]
  return (
    <>
      <Problems oidc={oidc} />
      <Connection application={application} proof={proof} />
      <WaysBack {...part} oidc={oidc} />
      <Flows {...part} oidc={oidc} />
      <Tokens {...part} oidc={oidc} />
      {proof === "secret" && <Secrets {...own} />}
      {proof !== "none" && <Keys {...own} />}
      <SignOut {...part} oidc={oidc} />
    </>
  )
}

type Proof = "secret" | "key" | "none"

const proofs = { basic: "secret", post: "secret", private_key_jwt: "key", none: "none" } as const

function State({ application }: Pick<ApplicationPart, "application">) {
  const { t } = useHouse()
  return (
    <>
      <Badge>{t(`kind.${kindOf(application)}`)}</Badge>
      <StateBadge state={isActive(application) ? "active" : "inactive"} />
    </>
  )
}

function Turn({ application, onChanged }: ApplicationPart) {
  const { t, core } = useHouse()
  const { applicationId, projectId } = application
  const active = isActive(application)
  const act = async () => {
    if (active) await core.applications.deactivateApplication({ applicationId, projectId })
    else await core.applications.reactivateApplication({ applicationId, projectId })
    await onChanged()
  }
  return <ActionButton label={t(active ? "action.deactivate" : "action.activate")} act={act} />
}

type ConnectionProps = Pick<ApplicationPart, "application"> & { readonly proof: Proof }

/** What the application is told about us. */
function Connection({ application, proof }: ConnectionProps) {
  const { t } = useHouse()
  const { configuration } = application
  if (configuration.case !== "oidcConfiguration" && configuration.case !== "apiConfiguration") {
    return null
  }
  return (
    <Section title={t("applications.connect")}>
      <dl className="facts">
        <dt>{t("field.issuer")}</dt>
        <dd>
          <Copyable value={location.origin} what={t("field.issuer")} />
        </dd>
        <dt>{t("field.client_id")}</dt>
        <dd>
          <Copyable value={configuration.value.clientId} what={t("field.client_id")} />
        </dd>
      </dl>
      {proof === "none" && <p className="quiet">{t("secret.none")}</p>}
    </Section>
  )
}

function About({ application, onChanged }: ApplicationPart) {
  const { t, core } = useHouse()
  const { applicationId, projectId, name, creationDate, changeDate } = application
  const rename = async (wanted: string) => {
    await core.applications.updateApplication({ applicationId, projectId, name: wanted })
    await onChanged()
  }
  return (
    <Section title={t("detail.about")}>
      <dl className="facts">
        <dt>{t("field.name")}</dt>
        <dd>
          <Rename name={name} act={rename} />
        </dd>
        <dt>{t("field.application_id")}</dt>
        <dd>
          <Copyable value={applicationId} what={t("field.application_id")} />
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

function Remove({ application }: Pick<ApplicationPart, "application">) {
  const { t, core } = useHouse()
  const { applicationId, projectId, name } = application
  const act = async () => {
    await core.applications.deleteApplication({ applicationId, projectId })
    go({ page: "project", projectId }, "replace")
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet">{t("applications.delete_text")}</p>
      <div className="row">
        <DeleteButton
          name={name}
          title={t("applications.delete")}
          consequence={t("applications.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
