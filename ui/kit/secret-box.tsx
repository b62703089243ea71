import { ButtonLink } from "./button.tsx"
import { CopyButton } from "./copy-button.tsx"

type SecretBoxProps = {
  readonly title: string
  readonly warning: string
  readonly secret: string
  readonly file: string
  readonly texts: { readonly copy: string; readonly copied: string; readonly download: string }
}

/** A new secret, shown only once, with buttons to copy and save it. */
export function SecretBox({ title, warning, secret, file, texts }: SecretBoxProps) {
  const href = `data:application/octet-stream;charset=utf-8,${encodeURIComponent(secret)}`
  return (
    <section className="secret" aria-label={title}>
      <div className="stack stack-tight">
        <h2>{title}</h2>
        <p className="small">{warning}</p>
      </div>
      <pre className="snippet secret-text">
        <code>{secret}</code>
      </pre>
      <div className="row">
        <CopyButton value={secret} label={texts.copy} done={texts.copied} description={title} />
        <ButtonLink small href={href} download={file}>
          {texts.download}
        </ButtonLink>
      </div>
    </section>
  )
}
