import type { ReactNode } from "react"
import type { TranslatePages } from "../kit/catalog.ts"
import { Mark } from "../kit/mark.tsx"
import type { TextKey } from "./texts/index.ts"

/** URLs of the files that every page loads, from `uiEntry`. */
export type Assets = { readonly css: string; readonly pageJs: string; readonly icon: string }

/** Properties of every page. `language` is the language of `t`. */
export type PageProps = {
  readonly t: TranslatePages<TextKey>
  readonly language: string
  readonly assets: Assets
  /** If absent, the default appearance. */
  readonly appearance?: Appearance | undefined
}

/** URL of an image; `dark` is for dark backgrounds. */
export type ThemedImage = { readonly light: string; readonly dark?: string | undefined }

/** The appearance of the pages. */
export type Appearance = {
  /** The name of the organization; absent for the default. */
  readonly brand?: string | undefined
  /** The URL of the stylesheet, if there is one. */
  readonly sheet?: string | undefined
  /** The logo, shown instead of the name. */
  readonly logo?: (ThemedImage & { readonly name: string }) | undefined
  /** The icon that browsers show beside the title. */
  readonly icon?: ThemedImage | undefined
  /** Links in the footer. */
  readonly links?: readonly FooterLink[]
}

/** A link below the card, with one of our texts or a custom one. */
export type FooterLink = {
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
  readonly footer?: ReactNode
  readonly wide?: boolean
  /** The URL that the browser opens automatically. */
  readonly refreshTo?: string | undefined
}

/** The document around a card, with the same header and footer on every page. */
export function Frame(props: FrameProps) {
  const {
    t,
    language,
    assets,
    appearance = {},
    title,
    children,
    footer: footerNode,
    wide,
    refreshTo,
  } = props
  const { brand = "Latchkey", sheet, icon, links = [] } = appearance
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
          <Brand {...appearance} />
          <main className="card gate-card">{children}</main>
          {footerNode && <footer className="gate-foot">{footerNode}</footer>}
          {links.length > 0 && <Links t={t} links={links} />}
        </div>
      </body>
    </html>
  )
}

/** Browsers choose by their own color scheme, whatever that of the page is. */
function Icon({ light, dark }: ThemedImage) {
  return (
    <>
      <link rel="icon" href={light} />
      {dark && <link rel="icon" href={dark} media="(prefers-color-scheme: dark)" />}
    </>
  )
}

type LinksProps = Pick<PageProps, "t"> & { readonly links: readonly FooterLink[] }

/** Open in a new tab, so that the sign-in continues unchanged. */
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

/** The logo or name. Browsers load only the image that they show. */
function Brand({ brand, logo }: Appearance) {
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

/** The title of a step, with one line that explains it. */
export function Heading({ title, lead }: HeadingProps) {
  return (
    <div className="stack stack-tight">
      <h1>{title}</h1>
      {lead && <p className="quiet">{lead}</p>}
    </div>
  )
}
