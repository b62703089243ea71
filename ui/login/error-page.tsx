import { Alert } from "../kit/alert.tsx"
import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** Everything that can stop a person on the way; each has a title, a reason and a next step. */
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
  /** Finds this very event in the log; shown so that it can be handed to an administrator. */
  readonly requestId: string
  /** What is so for this person; a sentence in their language. */
  readonly reason?: string | undefined
  /** One plain sentence for who made the application, in English; safe to show to anybody. */
  readonly detail?: string | undefined
  /** Where one signs in, or tries again, if that is the way on. */
  readonly startHref?: string | undefined
  /** Where one's own account is, for whoever came from there. */
  readonly accountHref?: string | undefined
}

/** Says what happened, what to do about it, and how to ask for help. */
export function ErrorPage(props: ErrorPageProps) {
  const { t, problem, requestId, reason, detail, startHref, accountHref } = props
  return (
    <Frame
      {...props}
      title={t(`error.${problem}.title`)}
      foot={
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
