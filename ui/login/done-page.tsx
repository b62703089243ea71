import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** The texts for each completed action. */
const textsByKind = {
  reset: { title: "reset.done.title", lead: "reset.done.lead" },
  verify_email: { title: "verify_email.done", lead: "verify.done.lead" },
  verify_phone: { title: "verify_phone.done", lead: "verify.done.lead" },
} as const

export type DonePageProps = PageProps & {
  readonly kind: keyof typeof textsByKind
  readonly signInHref: string
}

/** Completed steps of the sign-in; shown only if an administrator has customized the text. */
const textsByStep = {
  invite: "done.invite",
  password_change: "reset.done.title",
  factor_setup: "done.factor_setup",
  passkey_setup: "done.passkey_setup",
  linking: "done.linking",
} as const

export type StepDonePageProps = PageProps & {
  readonly kind: keyof typeof textsByStep
  readonly nextHref: string
}

/** Confirms a step and links to the next page. */
export function StepDonePage(props: StepDonePageProps) {
  const { kind, nextHref } = props
  const t = props.t.on(`${kind}_done`)
  const title = t(textsByStep[kind])
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("done.lead")} />
      <ButtonLink kind="primary" href={nextHref} wide>
        {t("login_name.submit")}
      </ButtonLink>
    </Frame>
  )
}

/** Confirms the action of a link; after a password change, signing in comes first. */
export function DonePage(props: DonePageProps) {
  const { kind, signInHref } = props
  const t = props.t.on(`${kind}_done`)
  const title = t(textsByKind[kind].title)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(textsByKind[kind].lead)} />
      <ButtonLink {...(kind === "reset" && { kind: "primary" })} href={signInHref} wide>
        {t("password.submit")}
      </ButtonLink>
    </Frame>
  )
}
