import type { ReactNode } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { createColors, type MailBranding, type MailColors } from "./mail-branding.ts"

/** The content of an email. Each line of `text` is a paragraph. */
export type MailPage = {
  readonly language: string
  readonly title: string
  /** Preview text in the list of emails; hidden in the email itself. */
  readonly preHeader: string
  readonly greeting: string
  readonly text: string
  /** Target of the button; empty if there is none. */
  readonly link: string
  readonly buttonText: string
  readonly footerText: string
  readonly branding: MailBranding
}

const fontFamily = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

/** Clients without dark mode or without support for these rules show the light colors. */
const darkRules = ({ page, card, words, quiet, button, onButton }: MailColors): string => `
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

/** Renders an email as HTML with tables and inline styles, for compatibility with older clients. */
export function renderMail(mail: MailPage): string {
  const markup = renderToStaticMarkup(<Mail {...mail} />)
  return `<!doctype html>${markup}`
}

function Mail(mail: MailPage) {
  const { language, title, preHeader, branding: look } = mail
  const { themeMode } = look.branding
  const schemes = themeMode === "auto" ? "light dark" : themeMode
  const colours = createColors(look.branding, themeMode === "dark" ? "dark" : "light")
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={schemes} />
        <meta name="supported-color-schemes" content={schemes} />
        <title>{title}</title>
        {themeMode === "auto" && <style>{darkRules(createColors(look.branding, "dark"))}</style>}
      </head>
      <body className="page" style={{ margin: 0, padding: 0, backgroundColor: colours.page }}>
        <div style={{ display: "none", maxHeight: 0, overflow: "hidden" }}>{preHeader}</div>
        <LayoutTable className="page" style={{ backgroundColor: colours.page }}>
          <td align="center" style={{ padding: "24px 12px" }}>
            <MailCard mail={mail} colours={colours} />
          </td>
        </LayoutTable>
      </body>
    </html>
  )
}

type LayoutTableProps = {
  readonly className: string
  readonly style: Readonly<Record<string, string>>
  readonly children: ReactNode
}

/** A table with one cell, as older clients require for layout. */
const LayoutTable = ({ className, style, children }: LayoutTableProps) => (
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

type MailCardProps = { readonly mail: MailPage; readonly colours: MailColors }

function MailCard({ mail, colours }: MailCardProps) {
  const { title, greeting, text, link, buttonText, footerText, branding: look } = mail
  const words = {
    fontFamily: fontFamily,
    fontSize: "16px",
    lineHeight: "24px",
    color: colours.words,
  }
  const card = { maxWidth: "560px", backgroundColor: colours.card, borderRadius: "8px" }
  return (
    <LayoutTable className="card" style={card}>
      <td className="words" style={{ ...words, padding: "32px 24px", textAlign: "start" }}>
        <LogoOrName look={look} />
        <h1 style={{ margin: "0 0 16px", fontSize: "22px", lineHeight: "28px" }}>{title}</h1>
        <TextParagraphs text={greeting} />
        <TextParagraphs text={text} />
        {link !== "" && <MailButton link={link} label={buttonText || title} colours={colours} />}
        {footerText !== "" && (
          <div className="quiet" style={{ fontSize: "14px", color: colours.quiet }}>
            <TextParagraphs text={footerText} />
          </div>
        )}
      </td>
    </LayoutTable>
  )
}

/** The sender's logo; the name if there is none or images are blocked. */
function LogoOrName({ look }: { readonly look: MailBranding }) {
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
      <MailLogo source={shown} name={name} {...(hasTwo && { className: "logo-light" })} />
      {hasTwo && <MailLogo source={logoDark} name={name} className="logo-dark" isHidden />}
    </div>
  )
}

type MailLogoProps = {
  readonly source: string
  readonly name: string
  readonly className?: string
  readonly isHidden?: boolean
}

const MailLogo = ({ source, name, className, isHidden = false }: MailLogoProps) => (
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

function TextParagraphs({ text }: { readonly text: string }) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "")
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rendered once
    <p key={at} style={{ margin: "0 0 16px", overflowWrap: "anywhere" }}>
      {line}
    </p>
  ))
}

type MailButtonProps = {
  readonly link: string
  readonly label: string
  readonly colours: MailColors
}

/**
 * The URL is below the button, for clients without the button and for users who want to check it.
 */
function MailButton({ link, label, colours }: MailButtonProps) {
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
                  fontFamily: fontFamily,
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
