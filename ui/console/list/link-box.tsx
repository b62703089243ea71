import { CopyButton, QrCode } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type LinkBoxProps = { readonly link: string; readonly description: string; readonly qr: string }

/** A link to share: copyable, with a QR code. */
export function LinkBox({ link, description, qr }: LinkBoxProps) {
  return (
    <>
      <pre className="snippet secret-text">
        <code>{link}</code>
      </pre>
      <div className="row">
        <CopyButton
          value={link}
          label={t("copy.do")}
          done={t("copy.done")}
          description={description}
        />
      </div>
      <QrCode text={link} label={qr} />
    </>
  )
}
