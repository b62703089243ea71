import { Fragment } from "react"
import { Alert } from "../kit/alert.tsx"
import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountPerson } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { Snippet } from "./snippet.tsx"

type Claims = Readonly<Record<string, unknown>>

export type TestPageProps = PageProps & {
  readonly application: string
  readonly backHref: string
  /** Who signed in, what they may do there, and what the application would be told. */
  readonly result?: Result | undefined
  /** Why nobody did. */
  readonly refusal?: Refused | undefined
}

type Result = {
  readonly account: Account
  /** On the project of the application, told or not. */
  readonly roles: readonly string[]
  /** Of OpenID Connect: the granted scopes, and those that were requested in vain. */
  readonly scopes?: readonly string[]
  readonly leftOut?: readonly string[]
  /** Where an application would find what most of them read. */
  readonly claims?: readonly UsualClaim[]
  readonly told: {
    readonly id_token?: Claims
    readonly userinfo?: Claims
    readonly access_token?: Claims | "opaque"
    /** What an application that speaks SAML would be told, as XML. */
    readonly assertion?: string
  }
}

type UsualClaim = {
  readonly name: "name" | "email" | "email_verified" | "picture" | "groups" | "roles"
  readonly at: "both" | "id_token" | "userinfo" | "nowhere"
  readonly why?: "scope" | "list" | "no_value" | "no_roles" | "unverified" | "not_in_id_token"
  /** The scope that requests it. */
  readonly scope: string
}

type Refused = {
  readonly error: string
  readonly description: string
  /** Names it in the list of refused requests; absent where it is not there. */
  readonly requestId?: string | undefined
}

/** What came of trying out how people sign in to an application. */
export function TestPage(props: TestPageProps) {
  const { t, application, backHref, result, refusal } = props
  const title = t("test.title", { application })
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} lead={t("test.lead", { application })} />
      {result && <Told t={t} application={application} result={result} />}
      {refusal && <Refusal t={t} refusal={refusal} />}
      <ButtonLink kind="primary" href={backHref} wide>
        {t("test.back")}
      </ButtonLink>
    </Frame>
  )
}

type ToldProps = Pick<PageProps, "t"> & {
  readonly application: string
  readonly result: Result
}

function Told({ t, application, result }: ToldProps) {
  const { account, roles, scopes, leftOut = [], claims, told } = result
  const { id_token: idToken, userinfo, access_token: accessToken, assertion } = told
  return (
    <>
      <Alert tone="done">{t("test.works")}</Alert>
      <div className="account-chip">
        <AccountPerson account={account} />
      </div>
      <p>
        {t("test.roles")} {roles.length === 0 ? t("test.no_roles") : roles.join(", ")}
      </p>
      {scopes && (
        <p>
          {t("test.scopes")} <code>{scopes.join(" ")}</code>
        </p>
      )}
      {leftOut.length > 0 && (
        <p>
          {t("test.left_out")} <code>{leftOut.join(" ")}</code>
        </p>
      )}
      {claims && <Usual t={t} claims={claims} />}
      <p>{t("test.told", { application })}</p>
      <div>
        {assertion && <Snippet name={t("test.assertion")} text={assertion} open />}
        {idToken && <Snippet name={t("test.id_token")} text={textOf(idToken)} open />}
        {userinfo && <Snippet name={t("test.userinfo")} text={textOf(userinfo)} open />}
        {typeof accessToken === "object" && (
          <Snippet name={t("test.access_token")} text={textOf(accessToken)} open />
        )}
      </div>
      {accessToken === "opaque" && <p className="quiet small">{t("test.opaque")}</p>}
    </>
  )
}

type UsualProps = Pick<PageProps, "t"> & { readonly claims: readonly UsualClaim[] }

/** What most applications look for, and what to change where they would not find it. */
function Usual({ t, claims }: UsualProps) {
  return (
    <section className="stack">
      <h2>{t("test.usual")}</h2>
      <dl className="facts">
        {claims.map(({ name, at, why, scope }) => (
          <Fragment key={name}>
            <dt>{t(`test.claim.${name}`)}</dt>
            <dd>
              {t(`test.at.${at}`)}
              {why && <p className="quiet small">{t(`test.hint.${why}`, { scope })}</p>}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

const textOf = (claims: Claims) => JSON.stringify(claims, undefined, 2)

type RefusalProps = Pick<PageProps, "t"> & { readonly refusal: Refused }

function Refusal({ t, refusal }: RefusalProps) {
  const { error, description, requestId } = refusal
  return (
    <>
      <Alert tone="danger" title={t("test.refused")}>
        <p lang="en">{description || error}</p>
        <p>
          <code>{error}</code>
        </p>
      </Alert>
      {requestId && (
        <p>
          {t("test.why")} <a href={`/ui/console/refused-requests/${requestId}`}>{requestId}</a>
        </p>
      )}
    </>
  )
}
