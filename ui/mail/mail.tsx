import type { ReactNode } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { type Colours, coloursOf, type MailLook } from "./look.ts"

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
  readonly look: MailLook
}

const font = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

/** Clients that know no dark mode show it light; those that drop this lose nothing else. */
const darkRules = ({ page, card, words, quiet, button, onButton }: Colours): string => `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background-color: ${page} !important; }
  .card { background-color: ${card} !important; }
  .words { color: ${words} !important; }
  .quiet { color: ${quiet} !important; }
  .button { background-color: ${button} !important; }
  .button a { color: ${onButton} !important; }
  .logo-light { display: none !important; }
  .logo-dark { display: block !important; }
}`

/** The HTML of a mail: tables and inline styles, which clients of long ago read, too. */
export function renderMail(mail: MailPage): string {
  const markup = renderToStaticMarkup(<Mail {...mail} />)
  return `<!doctype html>${markup}`
}

function Mail(mail: MailPage) {
  const { language, title, preHeader, look } = mail
  const { themeMode } = look.branding
  const schemes = themeMode === "auto" ? "light dark" : themeMode
  const colours = coloursOf(look.branding, themeMode === "dark" ? "dark" : "light")
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={schemes} />
        <meta name="supported-color-schemes" content={schemes} />
        <title>{title}</title>
        {themeMode === "auto" && <style>{darkRules(coloursOf(look.branding, "dark"))}</style>}
      </head>
      <body className="page" style={{ margin: 0, padding: 0, backgroundColor: colours.page }}>
        <div style={{ display: "none", maxHeight: 0, overflow: "hidden" }}>{preHeader}</div>
        <Table className="page" style={{ backgroundColor: colours.page }}>
          <td align="center" style={{ padding: "24px 12px" }}>
            <Card mail={mail} colours={colours} />
          </td>
        </Table>
      </body>
    </html>
  )
}

type TableProps = {
  readonly className: string
  readonly style: Readonly<Record<string, string>>
  readonly children: ReactNode
}

/** A table of one cell: what clients of long ago lay out by. */
const Table = ({ className, style, children }: TableProps) => (
  <table
    role="presentation"
    width="100%"
    cellPadding={0}
    cellSpacing={0}
    className={className}
    style={style}
  >
    <tbody>
      <tr>{children}</tr>
    </tbody>
  </table>
)

type CardProps = { readonly mail: MailPage; readonly colours: Colours }

function Card({ mail, colours }: CardProps) {
  const { title, greeting, text, link, buttonText, footerText, look } = mail
  const words = { fontFamily: font, fontSize: "16px", lineHeight: "24px", color: colours.words }
  const card = { maxWidth: "560px", backgroundColor: colours.card, borderRadius: "8px" }
  return (
    <Table className="card" style={card}>
      <td className="words" style={{ ...words, padding: "32px 24px", textAlign: "start" }}>
        <Sign look={look} />
        <h1 style={{ margin: "0 0 16px", fontSize: "22px", lineHeight: "28px" }}>{title}</h1>
        <Lines text={greeting} />
        <Lines text={text} />
        {link !== "" && <Button link={link} label={buttonText || title} colours={colours} />}
        {footerText !== "" && (
          <div className="quiet" style={{ fontSize: "14px", color: colours.quiet }}>
            <Lines text={footerText} />
          </div>
        )}
      </td>
    </Table>
  )
}

/** Whose mail it is: their logo; without one, and where pictures are kept back, their name. */
function Sign({ look }: { readonly look: MailLook }) {
  const { name, logo, logoDark, branding } = look
  const shown = branding.themeMode === "dark" ? logoDark || logo : logo || logoDark
  const hasTwo = branding.themeMode === "auto" && logo !== "" && logoDark !== ""
  if (shown === "") {
    return (
      <p
        style={{ margin: "0 0 24px", fontSize: "14px", fontWeight: 600, overflowWrap: "anywhere" }}
      >
        {name}
      </p>
    )
  }
  return (
    <div style={{ margin: "0 0 24px" }}>
      <Logo source={shown} name={name} {...(hasTwo && { className: "logo-light" })} />
      {hasTwo && <Logo source={logoDark} name={name} className="logo-dark" isHidden />}
    </div>
  )
}

type LogoProps = {
  readonly source: string
  readonly name: string
  readonly className?: string
  readonly isHidden?: boolean
}

const Logo = ({ source, name, className, isHidden = false }: LogoProps) => (
  <img
    className={className}
    src={source}
    alt={name}
    height={40}
    style={{
      display: isHidden ? "none" : "block",
      height: "40px",
      width: "auto",
      maxWidth: "100%",
      objectFit: "contain",
      border: 0,
    }}
  />
)

function Lines({ text }: { readonly text: string }) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "")
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rendered once
    <p key={at} style={{ margin: "0 0 16px", overflowWrap: "anywhere" }}>
      {line}
    </p>
  ))
}

type ButtonProps = {
  readonly link: string
  readonly label: string
  readonly colours: Colours
}

/** The address stands below it, for who sees no button, or wants to know where it leads. */
function Button({ link, label, colours }: ButtonProps) {
  return (
    <>
      <table role="presentation" cellPadding={0} cellSpacing={0} style={{ margin: "8px 0 16px" }}>
        <tbody>
          <tr>
            <td className="button" style={{ backgroundColor: colours.button, borderRadius: "6px" }}>
              <a
                href={link}
                style={{
                  display: "inline-block",
                  padding: "12px 24px",
                  color: colours.onButton,
                  fontFamily: font,
                  fontSize: "16px",
                  textDecoration: "none",
                }}
              >
                {label}
              </a>
            </td>
          </tr>
        </tbody>
      </table>
      <p
        className="quiet"
        style={{ fontSize: "13px", color: colours.quiet, overflowWrap: "anywhere" }}
      >
        {link}
      </p>
    </>
  )
}
