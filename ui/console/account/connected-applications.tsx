import {
  ActivityService,
  type ConnectedApplication,
} from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { ConfirmButton } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Section, t, useRead } from "../shell/index.ts"

const { listConnectedApplications, disconnectApplication } = ActivityService.method

/** Applications with access to the account, with their permissions and a button to disconnect. */
export function ConnectedApplications() {
  const { connectedApplications } = useRead(listConnectedApplications)
  return (
    <Section title={t("account.apps.title")}>
      <p className="quiet section-lead">{t("account.apps.text")}</p>
      {connectedApplications.length === 0 && <p className="quiet">{t("account.apps.none")}</p>}
      <ul className="way-list">
        {connectedApplications.map((each) => (
          <ConnectedApplicationItem key={each.applicationId} application={each} />
        ))}
      </ul>
    </Section>
  )
}

function ConnectedApplicationItem({ application }: { readonly application: ConnectedApplication }) {
  const { applicationId, applicationName, connectedSince, lastUsed } = application
  const { consentExpiration } = application
  return (
    <li>
      <div className="way-text">
        <h3>
          <bdi>{applicationName}</bdi>
        </h3>
        <ul className="small">
          {describeAccess(application).map((right) => (
            <li key={right}>{right}</li>
          ))}
        </ul>
        <p className="quiet small">
          {t("account.apps.since")} <Time at={connectedSince} /> · {t("account.apps.used")}{" "}
          <Time at={lastUsed} />
        </p>
        {consentExpiration && (
          <p className="quiet small">
            {t("account.apps.consent")} <Time at={consentExpiration} />
          </p>
        )}
      </div>
      <ConfirmButton
        needs="own"
        small
        label={t("account.apps.withdraw")}
        subject={applicationName}
        consequence={t("account.apps.withdraw_text")}
        act={() => call(disconnectApplication, { applicationId })}
      />
    </li>
  )
}

/** What an application can read and do, one sentence each. */
export function describeAccess({
  scopes,
  projects,
  offline,
}: Pick<ConnectedApplication, "scopes" | "projects" | "offline">): readonly string[] {
  // Each access token contains the user ID, even without openid.
  const descriptions = ["openid", ...scopes].flatMap((scope) => {
    const scopeText = scopeTexts.find(([form]) => form.test(scope))
    if (!scopeText) return [t("account.apps.scope.other", { scope })]
    const [, text] = scopeText
    return text === undefined ? [] : [t(text)]
  })
  const named = projects.map(({ projectName: project, organizationName: organization }) =>
    t("account.apps.project", { project, organization }),
  )
  const away = offline ? [t("account.apps.away")] : []
  return [...new Set([...descriptions, ...named, ...away])]
}

/** Texts for scopes; scopes that don't concern the user's own account have none. */
const scopeTexts = [
  [/^openid$/, "account.apps.scope.openid"],
  [/^profile$/, "account.apps.scope.profile"],
  [/^email$/, "account.apps.scope.email"],
  [/^phone$/, "account.apps.scope.phone"],
  [/^address$/, "account.apps.scope.address"],
  [/^urn:core:iam:org:project:id:core:aud$/, "account.apps.scope.manage"],
  [/^urn:core:iam:org:(project:role:|projects?:roles$|roles:id:)/, "account.apps.scope.roles"],
  [/^(groups|roles)$/, "account.apps.scope.roles"],
  [/^urn:core:iam:user:metadata$/, "account.apps.scope.metadata"],
  [/^urn:core:iam:user:resourceowner$/, "account.apps.scope.organization"],
  [/^urn:core:iam:org:(id|domain:primary):/, "account.apps.scope.organization"],
  // Offline access is shown separately; the others select the organization or the token's audience.
  [/^offline_access$|^urn:core:iam:org:/, undefined],
] as const
