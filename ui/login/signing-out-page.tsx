import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SigningOutPageProps = PageProps & {
  /** Pages of applications that forget the session when they are loaded. */
  readonly frames: readonly string[]
  readonly continueHref: string
}

/**
 * Loads what applications forget their session by, and goes on: the script as soon as all have
 * loaded, the browser by itself after a few seconds, and the person whenever they like.
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
