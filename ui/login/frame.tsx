import type { ReactNode } from "react"
import type { TranslatePages } from "../kit/catalogue.ts"
import { Mark } from "../kit/mark.tsx"
import type { TextKey } from "./texts/index.ts"

/** Addresses of the files every page loads, from `uiEntry`. */
export type Assets = { readonly css: string; readonly pageJs: string; readonly icon: string }

/** What every page needs. `language` is the one `t` speaks. */
export type PageProps = {
  readonly t: TranslatePages<TextKey>
  readonly language: string
  readonly assets: Assets
  /** Left out: as the kit does. */
  readonly look?: Look | undefined
}

/** Where a picture is; `dark` is another for a dark ground. */
export type Picture = { readonly light: string; readonly dark?: string | undefined }

/** How the pages of somebody look. */
export type Look = {
  /** Whose pages these are, where that is not us. */
  readonly brand?: string | undefined
  /** Where the sheet is that makes them look so, if there is one. */
  readonly sheet?: string | undefined
  /** What stands for their name. */
  readonly logo?: (Picture & { readonly name: string }) | undefined
  /** What browsers show beside the title. */
  readonly icon?: Picture | undefined
  /** Where the pages lead beside the way in. */
  readonly links?: readonly FootLink[]
}

/** A link below the card: by one of our words, or by theirs. */
export type FootLink = {
  readonly href: string
  readonly name:
    | "register.terms"
    | "register.privacy"
    | "foot.help"
    | "foot.support"
    | "foot.docs"
    | { readonly said: string }
}

type FrameProps = PageProps & {
  readonly title: string
  readonly children: ReactNode
  readonly foot?: ReactNode
  readonly wide?: boolean
  /** The address that the browser opens next, by itself. */
  readonly refreshTo?: string | undefined
}

/** The document around one card: the same head, sign and foot for every page. */
export function Frame(props: FrameProps) {
  const { t, language, assets, look = {}, title, children, foot, wide, refreshTo } = props
  const { brand = "Latchkey", sheet, icon, links = [] } = look
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <title>{`${title} · ${brand}`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        {refreshTo && <meta httpEquiv="refresh" content={`0;url=${refreshTo}`} />}
        <link rel="stylesheet" href={assets.css} />
        {sheet && <link rel="stylesheet" href={sheet} />}
        {icon ? <Icon {...icon} /> : <link rel="icon" href={assets.icon} type="image/svg+xml" />}
        <script src={assets.pageJs} />
      </head>
      <body className="gate">
        <div className={wide ? "gate-column gate-column-wide" : "gate-column"}>
          <Sign {...look} />
          <main className="card gate-card">{children}</main>
          {foot && <footer className="gate-foot">{foot}</footer>}
          {links.length > 0 && <Links t={t} links={links} />}
        </div>
      </body>
    </html>
  )
}

/** Browsers choose by the colours of their own frame, whatever those of the page are. */
function Icon({ light, dark }: Picture) {
  return (
    <>
      <link rel="icon" href={light} />
      {dark && <link rel="icon" href={dark} media="(prefers-color-scheme: dark)" />}
    </>
  )
}

type LinksProps = Pick<PageProps, "t"> & { readonly links: readonly FootLink[] }

/** They open beside the sign-in, which goes on where it was left. */
function Links({ t, links }: LinksProps) {
  return (
    <ul className="gate-links">
      {links.map(({ href, name }) => (
        <li key={typeof name === "string" ? name : "own"}>
          <a href={href} target="_blank" rel="noopener noreferrer">
            {typeof name === "string" ? t(name) : name.said}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Whose page it is. Of two pictures, browsers load the one that shows. */
function Sign({ brand, logo }: Look) {
  if (logo) {
    const { light, dark, name } = logo
    return (
      <header className="brand">
        {dark ? (
          <>
            <img className="logo logo-light" src={light} alt={name} loading="lazy" />
            <img className="logo logo-dark" src={dark} alt={name} loading="lazy" />
          </>
        ) : (
          <img className="logo" src={light} alt={name} />
        )}
      </header>
    )
  }
  return (
    <header className={brand === undefined ? "brand brand-ours" : "brand"}>
      <Mark />
      {brand ?? "Latchkey"}
    </header>
  )
}

type HeadingProps = { readonly title: string; readonly lead?: ReactNode }

/** The question of the step, and one line that says why it is asked. */
export function Heading({ title, lead }: HeadingProps) {
  return (
    <div className="stack stack-tight">
      <h1>{title}</h1>
      {lead && <p className="quiet">{lead}</p>}
    </div>
  )
}
