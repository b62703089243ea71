import { renderToStaticMarkup } from "react-dom/server"

/** A mail in words. A paragraph of `text` is a line of it. */
export type MailPage = {
  readonly language: string
  readonly title: string
  /** What a list of mails shows beside the subject; hidden in the mail itself. */
  readonly preHeader: string
  readonly greeting: string
  readonly text: string
  /** Where the button leads; empty where there is none. */
  readonly link: string
  readonly buttonText: string
  readonly footerText: string
}

const font = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

/** Clients that know no dark mode show it light; those that drop this lose nothing else. */
const dark = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background-color: #16181d !important; }
  .card { background-color: #21242b !important; }
  .words { color: #eceef2 !important; }
  .quiet { color: #a3a9b6 !important; }
}`

/** The HTML of a mail: tables and inline styles, which clients of long ago read, too. */
export function renderMail(mail: MailPage): string {
  const markup = renderToStaticMarkup(<Mail {...mail} />)
  return `<!doctype html>${markup}`
}

function Mail({ language, title, preHeader, ...words }: MailPage) {
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>{title}</title>
        <style>{dark}</style>
      </head>
      <body className="page" style={{ margin: 0, padding: 0, backgroundColor: "#f3f4f6" }}>
        <div style={{ display: "none", maxHeight: 0, overflow: "hidden" }}>{preHeader}</div>
        <table
          role="presentation"
          width="100%"
          cellPadding={0}
          cellSpacing={0}
          className="page"
          style={{ backgroundColor: "#f3f4f6" }}
        >
          <tbody>
            <tr>
              <td align="center" style={{ padding: "24px 12px" }}>
                <Card title={title} {...words} />
              </td>
            </tr>
          </tbody>
        </table>
      </body>
    </html>
  )
}

const words = { fontFamily: font, fontSize: "16px", lineHeight: "24px", color: "#1c1f26" } as const

function Card(card: Omit<MailPage, "language" | "preHeader">) {
  const { title, greeting, text, link, buttonText, footerText } = card
  return (
    <table
      role="presentation"
      width="100%"
      cellPadding={0}
      cellSpacing={0}
      className="card"
      style={{ maxWidth: "560px", backgroundColor: "#ffffff", borderRadius: "8px" }}
    >
      <tbody>
        <tr>
          <td className="words" style={{ ...words, padding: "32px 24px", textAlign: "start" }}>
            <h1 style={{ margin: "0 0 16px", fontSize: "22px", lineHeight: "28px" }}>{title}</h1>
            <Lines text={greeting} />
            <Lines text={text} />
            {link !== "" && <Button link={link} label={buttonText || title} />}
            {footerText !== "" && (
              <div className="quiet" style={{ fontSize: "14px", color: "#5b6270" }}>
                <Lines text={footerText} />
              </div>
            )}
          </td>
        </tr>
      </tbody>
    </table>
  )
}

function Lines({ text }: { readonly text: string }) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "")
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rendered once
    <p key={at} style={{ margin: "0 0 16px", overflowWrap: "anywhere" }}>
      {line}
    </p>
  ))
}

/** The address stands below it, for who sees no button, or wants to know where it leads. */
function Button({ link, label }: { readonly link: string; readonly label: string }) {
  return (
    <>
      <table role="presentation" cellPadding={0} cellSpacing={0} style={{ margin: "8px 0 16px" }}>
        <tbody>
          <tr>
            <td style={{ backgroundColor: "#2f56d0", borderRadius: "6px" }}>
              <a
                href={link}
                style={{
                  ...{ display: "inline-block", padding: "12px 24px", color: "#ffffff" },
                  ...{ fontFamily: font, fontSize: "16px", textDecoration: "none" },
                }}
              >
                {label}
              </a>
            </td>
          </tr>
        </tbody>
      </table>
      <p className="quiet" style={{ fontSize: "13px", color: "#5b6270", overflowWrap: "anywhere" }}>
        {link}
      </p>
    </>
  )
}
