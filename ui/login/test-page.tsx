import { Fragment } from "react"
import { Alert } from "../kit/alert.tsx"
import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountIdentity } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { Snippet } from "./snippet.tsx"

type Claims = Readonly<Record<string, unknown>>

export type TestPageProps = PageProps & {
  readonly application: string
  readonly backHref: string
  /** The user, their roles, and what the application would receive. */
  readonly result?: Result | undefined
  /** Why the sign-in failed. */
  readonly refusal?: TestError | undefined
}

type Result = {
  readonly account: Account
  /** Roles on the application's project, whether the application receives them or not. */
  readonly roles: readonly string[]
  /** For OpenID Connect: the granted scopes, and those that were requested and not granted. */
  readonly scopes?: readonly string[]
  readonly leftOut?: readonly string[]
  /** Where an application would find common claims. */
  readonly claims?: readonly CommonClaim[]
  readonly received: {
    readonly id_token?: Claims
    readonly userinfo?: Claims
    readonly access_token?: Claims | "opaque"
    /** For SAML: the assertion that the application would receive, as XML. */
    readonly assertion?: string
  }
}

type CommonClaim = {
  readonly name: "name" | "email" | "email_verified" | "picture" | "groups" | "roles"
  readonly at: "both" | "id_token" | "userinfo" | "nowhere"
  readonly why?: "scope" | "list" | "no_value" | "no_roles" | "unverified" | "not_in_id_token"
  /** The scope that requests the claim. */
  readonly scope: string
}

type TestError = {
  readonly error: string
  readonly description: string
  /** Identifies it in the list of rejected requests; absent if it is not listed. */
  readonly requestId?: string | undefined
}

/** The result of a sign-in test. */
export function TestPage(props: TestPageProps) {
  const { t, application, backHref, result, refusal } = props
  const title = t("test.title", { application })
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} lead={t("test.lead", { application })} />
      {result && <TestResult t={t} application={application} result={result} />}
      {refusal && <TestErrorMessage t={t} refusal={refusal} />}
      <ButtonLink kind="primary" href={backHref} wide>
        {t("test.back")}
      </ButtonLink>
    </Frame>
  )
}

type TestResultProps = Pick<PageProps, "t"> & {
  readonly application: string
  readonly result: Result
}

function TestResult({ t, application, result }: TestResultProps) {
  const { account, roles, scopes, leftOut = [], claims, received } = result
  const { id_token: idToken, userinfo, access_token: accessToken, assertion } = received
  return (
    <>
      <Alert tone="done">{t("test.works")}</Alert>
      <div className="account-chip">
        <AccountIdentity account={account} />
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
      {claims && <CommonClaims t={t} claims={claims} />}
      <p>{t("test.told", { application })}</p>
      <div>
        {assertion && <Snippet name={t("test.assertion")} text={assertion} open />}
        {idToken && <Snippet name={t("test.id_token")} text={formatClaims(idToken)} open />}
        {userinfo && <Snippet name={t("test.userinfo")} text={formatClaims(userinfo)} open />}
        {typeof accessToken === "object" && (
          <Snippet name={t("test.access_token")} text={formatClaims(accessToken)} open />
        )}
      </div>
      {accessToken === "opaque" && <p className="quiet small">{t("test.opaque")}</p>}
    </>
  )
}

type CommonClaimsProps = Pick<PageProps, "t"> & { readonly claims: readonly CommonClaim[] }

/** Common claims, and what to change if an application would not find one. */
function CommonClaims({ t, claims }: CommonClaimsProps) {
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

const formatClaims = (claims: Claims) => JSON.stringify(claims, undefined, 2)

type TestErrorProps = Pick<PageProps, "t"> & { readonly refusal: TestError }

function TestErrorMessage({ t, refusal }: TestErrorProps) {
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
