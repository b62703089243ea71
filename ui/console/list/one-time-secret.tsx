import { SecretBox } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type OneTimeSecretProps = {
  readonly title: string
  readonly secret: string
  readonly file: string
  /** What to do with it, where it is for a person and not for a program. */
  readonly warning?: string
}

/** What the server says this once and never again. */
export function OneTimeSecret({
  title,
  secret,
  file,
  warning = t("secret.once"),
}: OneTimeSecretProps) {
  const texts = { copy: t("copy.do"), copied: t("copy.done"), download: t("copy.download") }
  return (
    <SecretBox
      title={title}
      warning={warning}
      secret={secret}
      file={fileNameOf(file)}
      texts={texts}
    />
  )
}

/** A name for a file, whatever somebody called the thing. */
export function fileNameOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}.]+/gu, "-")
}
