import { Alert } from "../kit/alert.tsx"
import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** Problems that can interrupt a sign-in; each has a title, a reason and a next step. */
export const problems = [
  "unexpected",
  "expired",
  "no_cookies",
  "other_browser",
  "other_tester",
  "not_found",
  "unknown_application",
  "redirect_uri",
  "invalid_request",
  "not_allowed",
  "too_many_tries",
  "set_up_done",
  "blocked",
  "provider_cancelled",
  "provider_down",
  "provider_refused",
  "provider_unlinked",
  "provider_domain",
  "provider_taken",
] as const
export type Problem = (typeof problems)[number]

export type ErrorPageProps = PageProps & {
  readonly problem: Problem
  /** Identifies the request in the log; shown so that users can give it to an administrator. */
  readonly requestId: string
  /** The reason for this user, as a sentence in their language. */
  readonly reason?: string | undefined
  /** One sentence for the developers of the application, in English; can be shown to everyone. */
  readonly detail?: string | undefined
  /** Where to sign in or retry, if that solves the problem. */
  readonly startHref?: string | undefined
  /** The user's account page, if they came from there. */
  readonly accountHref?: string | undefined
}

/** Shows what happened, what to do, and how to get help. */
export function ErrorPage(props: ErrorPageProps) {
  const { t, problem, requestId, reason, detail, startHref, accountHref } = props
  return (
    <Frame
      {...props}
      title={t(`error.${problem}.title`)}
      footer={
        <>
          {t("error.request_id")} <code>{requestId}</code>
        </>
      }
    >
      <Heading title={t(`error.${problem}.title`)} />
      <p>{t(`error.${problem}.happened`)}</p>
      {reason && <Alert tone="warning">{reason}</Alert>}
      {detail && (
        <Alert tone="warning" title={t("error.detail")}>
          <p lang="en">{detail}</p>
        </Alert>
      )}
      <p className="quiet">{t(`error.${problem}.todo`)}</p>
      {startHref && (
        <ButtonLink kind="primary" href={startHref} wide>
          {t(problem === "no_cookies" ? "error.retry" : "error.sign_in")}
        </ButtonLink>
      )}
      {accountHref && (
        <ButtonLink href={accountHref} wide>
          {t("signed_in.account")}
        </ButtonLink>
      )}
    </Frame>
  )
}
