import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SignedOutPageProps = PageProps & {
  readonly signInHref: string
  /** Nothing was ended: a session in another browser may live on. */
  readonly isNobodyHere?: boolean
}

/** The session is over; the way back in is one step away. */
export function SignedOutPage(props: SignedOutPageProps) {
  const { t, signInHref, isNobodyHere = false } = props
  const title = t(isNobodyHere ? "signed_out.nobody_title" : "signed_out.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(isNobodyHere ? "signed_out.nobody" : "signed_out.lead")} />
      <ButtonLink href={signInHref} wide>
        {t(isNobodyHere ? "signed_out.sign_in" : "signed_out.again")}
      </ButtonLink>
    </Frame>
  )
}
