import { CopyButton, QrCode } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type LinkBoxProps = { readonly link: string; readonly what: string; readonly qr: string }

/** A link to hand on: to copy, or for the camera of whoever stands beside. */
export function LinkBox({ link, what, qr }: LinkBoxProps) {
  return (
    <>
      <pre className="snippet secret-text">
        <code>{link}</code>
      </pre>
      <div className="row">
        <CopyButton value={link} label={t("copy.do")} done={t("copy.done")} what={what} />
      </div>
      <QrCode text={link} label={qr} />
    </>
  )
}
