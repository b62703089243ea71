import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** What came to a good end, and what its page says. */
const words = {
  reset: { title: "reset.done.title", lead: "reset.done.lead" },
  verify_email: { title: "verify_email.done", lead: "verify.done.lead" },
  verify_phone: { title: "verify_phone.done", lead: "verify.done.lead" },
} as const

export type DonePageProps = PageProps & {
  readonly kind: keyof typeof words
  readonly signInHref: string
}

/** What a step of the sign-in has done; users see it where somebody has worded the page. */
const steps = {
  invite: "done.invite",
  password_change: "reset.done.title",
  factor_setup: "done.factor_setup",
  passkey_setup: "done.passkey_setup",
  linking: "done.linking",
} as const

export type StepDonePageProps = PageProps & {
  readonly kind: keyof typeof steps
  readonly onwardHref: string
}

/** Says that a step is done, and leads on with the sign-in. */
export function StepDonePage(props: StepDonePageProps) {
  const { kind, onwardHref } = props
  const t = props.t.on(`${kind}_done`)
  const title = t(steps[kind])
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("done.lead")} />
      <ButtonLink kind="primary" href={onwardHref} wide>
        {t("login_name.submit")}
      </ButtonLink>
    </Frame>
  )
}

/** What the link of a message was for is done; where it was a password, the way in stands first. */
export function DonePage(props: DonePageProps) {
  const { kind, signInHref } = props
  const t = props.t.on(`${kind}_done`)
  const title = t(words[kind].title)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(words[kind].lead)} />
      <ButtonLink {...(kind === "reset" && { kind: "primary" })} href={signInHref} wide>
        {t("password.submit")}
      </ButtonLink>
    </Frame>
  )
}
