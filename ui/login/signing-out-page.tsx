import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SigningOutPageProps = PageProps & {
  /** Logout pages of applications, loaded in frames. */
  readonly frames: readonly string[]
  readonly continueHref: string
}

/**
 * Loads the logout pages of applications and continues: by script when all have loaded,
 * automatically after a few seconds, or by the link.
 */
export function SigningOutPage(props: SigningOutPageProps) {
  const { t, frames, continueHref } = props
  return (
    <Frame {...props} title={t("signing_out.title")}>
      <Heading title={t("signing_out.title")} lead={t("signing_out.lead")} />
      <ButtonLink href={continueHref} data-when-loaded="" wide>
        {t("signing_out.continue")}
      </ButtonLink>
      {frames.map((src) => (
        <iframe
          hidden
          key={src}
          src={src}
          title={t("signing_out.title")}
          sandbox="allow-scripts allow-same-origin"
          referrerPolicy="no-referrer"
        />
      ))}
    </Frame>
  )
}
