import { Button } from "../kit/button.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  FlowForm,
  RequestedData,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type ConsentPageProps = PageProps & {
  readonly form: Target
  readonly account: Account
  /** The session that the consent is for. */
  readonly session: string
  /** Identifies the application as shown, so that a later change is detected. */
  readonly identity?: string | undefined
  readonly changeHref: string
  readonly application: Application
  /** Projects of other organizations that the application can access for the user. */
  readonly projects: readonly RequestedProject[]
  /** APIs whose scopes are requested. */
  readonly apis: readonly RequestedApi[]
  /** The user code, if a device requests access. */
  readonly userCode?: string | undefined
  /** When the consent expires, ms UTC; absent if the user is asked each time. */
  readonly rememberedUntil?: number | undefined
}

/** A project, and the organization that owns it. */
type RequestedProject = {
  readonly id: string
  readonly name: string
  readonly organization: string
}

/** An API, with its requested scopes. */
type RequestedApi = RequestedProject & {
  readonly scopes: readonly {
    readonly scope: string
    readonly name: string
    readonly description: string
  }[]
}

/** Asks for consent. Posts `session`, `identity` and `answer`: allow or cancel. */
export function ConsentPage(props: ConsentPageProps) {
  const { t, language, form, account, session, changeHref, application, projects } = props
  const { apis, userCode, rememberedUntil, identity } = props
  const title = t("consent.title", { application: application.name })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("consent.lead")} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <RequestedData t={t} language={language} application={application} isQuestion />
      {projects.map(({ id, name, organization }) => (
        <p key={id} className="learns-most">
          {t("consent.project", { project: name, organization })}
        </p>
      ))}
      {apis.map(({ id, name, organization, scopes }) => (
        <div key={id} className="learns-question" dir="auto">
          <p className="learns-most">{t("consent.api", { api: name, organization })}</p>
          <ul className="learns-scopes">
            {scopes.map((one) => (
              <li key={one.scope} dir="auto">
                {one.name || <code>{one.scope}</code>}
                {one.description && <p className="quiet">{one.description}</p>}
              </li>
            ))}
          </ul>
        </div>
      ))}
      {userCode && (
        <p>
          {t("consent.device")} <code>{userCode}</code>
        </p>
      )}
      {rememberedUntil !== undefined && (
        <p className="quiet">
          {t("consent.remembered", {
            application: application.name,
            date: formatDate(language, rememberedUntil),
          })}
        </p>
      )}
      <FlowForm target={form}>
        <input type="hidden" name="session" value={session} />
        {identity && <input type="hidden" name="identity" value={identity} />}
        <Button kind="primary" type="submit" name="answer" value="allow" wide>
          {t("consent.allow")}
        </Button>
        <Button type="submit" name="answer" value="cancel" wide>
          {t("consent.cancel")}
        </Button>
      </FlowForm>
    </Frame>
  )
}

const formatDate = (language: string, ms: number): string =>
  new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" }).format(ms)
