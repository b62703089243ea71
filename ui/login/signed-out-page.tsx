import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SignedOutPageProps = PageProps & {
  readonly signInHref: string
  /** Whether no session was ended; sessions in other browsers may be active. */
  readonly hadNoSession?: boolean
}

/** Confirms the logout, with a link to sign in again. */
export function SignedOutPage(props: SignedOutPageProps) {
  const { t, signInHref, hadNoSession = false } = props
  const title = t(hadNoSession ? "signed_out.nobody_title" : "signed_out.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(hadNoSession ? "signed_out.nobody" : "signed_out.lead")} />
      <ButtonLink href={signInHref} wide>
        {t(hadNoSession ? "signed_out.sign_in" : "signed_out.again")}
      </ButtonLink>
    </Frame>
  )
}
