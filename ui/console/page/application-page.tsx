import { useState } from "react"
import {
  type Application,
  OIDCAuthMethodType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { isActive, kindOf } from "../application-list.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { CredentialsBox } from "../credentials-box.tsx"
import { Copyable, Detail, Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { RedirectUris } from "../redirect-uris.tsx"
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
  const list = { label: t("nav.applications"), to: { page: "applications" } as const }
  return (
    <Detail loaded={loaded} crumbs={[list]}>
      {({ application, projectName }) => {
        const { projectId, name } = application
        const crumbs = [
          { label: t("nav.projects"), to: { page: "projects" } as const },
          { label: projectName, to: { page: "project", projectId } as const },
        ]
        const part = { application, onChanged: loaded.reload }
        return (
          <PageFrame
            title={name}
            crumbs={crumbs}
            badge={<State application={application} />}
            actions={<Turn {...part} />}
          >
            <Connection {...part} />
            <RedirectUris {...part} />
            <About {...part} />
            <Remove application={application} />
          </PageFrame>
        )
      }}
    </Detail>
  )
}

type PartProps = { readonly application: Application; readonly onChanged: () => void }

function State({ application }: Pick<PartProps, "application">) {
  const { t } = useHouse()
  return (
    <>
      <Badge>{t(`kind.${kindOf(application)}`)}</Badge>
      <StateBadge state={isActive(application) ? "active" : "inactive"} />
    </>
  )
}

function Turn({ application, onChanged }: PartProps) {
  const { t, core } = useHouse()
  const { applicationId, projectId } = application
  const active = isActive(application)
  const act = async () => {
    if (active) await core.applications.deactivateApplication({ applicationId, projectId })
    else await core.applications.reactivateApplication({ applicationId, projectId })
    onChanged()
  }
  return <ActionButton label={t(active ? "action.deactivate" : "action.activate")} act={act} />
}

/** What the application is told about us: issuer, client id and, when renewed, its secret. */
function Connection({ application, onChanged }: PartProps) {
  const { t, core } = useHouse()
  const [secret, setSecret] = useState("")
  const { applicationId, projectId, name, configuration } = application
  if (configuration.case !== "oidcConfiguration" && configuration.case !== "apiConfiguration") {
    return null
  }
  const { clientId } = configuration.value
  const renew = async () => {
    const wanted = { applicationId, projectId }
    const { clientSecret } = await core.applications.generateClientSecret(wanted)
    setSecret(clientSecret)
    onChanged()
  }
  const renewal = keepsSecret(application) && <ActionButton label={t("secret.renew")} act={renew} />
  return (
    <Section title={t("applications.connect")} actions={renewal}>
      {secret || !keepsSecret(application) ? (
        <CredentialsBox credentials={{ name, clientId, clientSecret: secret }} />
      ) : (
        <dl className="facts">
          <dt>{t("field.issuer")}</dt>
          <dd>
            <Copyable value={location.origin} what={t("field.issuer")} />
          </dd>
          <dt>{t("field.client_id")}</dt>
          <dd>
            <Copyable value={clientId} what={t("field.client_id")} />
          </dd>
          <dt>{t("secret.client")}</dt>
          <dd className="quiet">{t("secret.hidden")}</dd>
        </dl>
      )}
    </Section>
  )
}

function keepsSecret({ configuration }: Application): boolean {
  if (configuration.case !== "oidcConfiguration") return configuration.case === "apiConfiguration"
  const { authMethodType } = configuration.value
  return (
    authMethodType === OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_BASIC ||
    authMethodType === OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_POST
  )
}

function About({ application, onChanged }: PartProps) {
  const { t, core } = useHouse()
  const { applicationId, projectId, name, creationDate, changeDate } = application
  const rename = async (wanted: string) => {
    await core.applications.updateApplication({ applicationId, projectId, name: wanted })
    onChanged()
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

function Remove({ application }: Pick<PartProps, "application">) {
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
