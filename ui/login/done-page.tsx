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

/** What the link of a message was for is done; where it was a password, the way in stands first. */
export function DonePage(props: DonePageProps) {
  const { t, kind, signInHref } = props
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
