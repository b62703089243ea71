import { CopyButton } from "../../kit/copy-button.tsx"
import { QrCode } from "../../kit/qr-code.tsx"
import { t } from "../shell/text.ts"

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
