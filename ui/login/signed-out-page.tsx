import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SignedOutPageProps = PageProps & { readonly signInHref: string }

/** The session is over; the way back in is one step away. */
export function SignedOutPage(props: SignedOutPageProps) {
  const { t, signInHref } = props
  return (
    <Frame {...props} title={t("signed_out.title")}>
      <Heading title={t("signed_out.title")} lead={t("signed_out.lead")} />
      <ButtonLink href={signInHref} wide>
        {t("signed_out.again")}
      </ButtonLink>
    </Frame>
  )
}
