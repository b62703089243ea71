import { SecretBox } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type OneTimeSecretProps = {
  readonly title: string
  readonly secret: string
  readonly file: string
  /** The instruction, if not the default for applications. */
  readonly warning?: string
}

/** A secret that the server returns only once. */
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

/** A file name derived from the name of a resource. */
export function fileNameOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}.]+/gu, "-")
}
