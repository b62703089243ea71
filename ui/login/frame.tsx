import type { ReactNode } from "react"
import type { Translate } from "../kit/catalogue.ts"
import { Mark } from "../kit/mark.tsx"
import type { TextKey } from "./texts/index.ts"

/** Addresses of the files every page loads, from `uiEntry`. */
export type Assets = { readonly css: string; readonly pageJs: string; readonly icon: string }

/** What every page needs. `language` is the one `t` speaks. */
export type PageProps = {
  readonly t: Translate<TextKey>
  readonly language: string
  readonly assets: Assets
  /** Whose pages these are, where that is not us. */
  readonly brand?: string | undefined
  /** Where the sheet is that makes them look so, if there is one. */
  readonly sheet?: string | undefined
}

type FrameProps = PageProps & {
  readonly title: string
  readonly children: ReactNode
  readonly foot?: ReactNode
  readonly wide?: boolean
}

/** The document around one card: the same head, sign and foot for every page. */
export function Frame(props: FrameProps) {
  const { language, assets, brand = "Latchkey", sheet, title, children, foot, wide } = props
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <title>{`${title} · ${brand}`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <link rel="stylesheet" href={assets.css} />
        {sheet && <link rel="stylesheet" href={sheet} />}
        <link rel="icon" href={assets.icon} type="image/svg+xml" />
        <script src={assets.pageJs} />
      </head>
      <body className="gate">
        <div className={wide ? "gate-column gate-column-wide" : "gate-column"}>
          <header className={props.brand === undefined ? "brand brand-ours" : "brand"}>
            <Mark />
            {brand}
          </header>
          <main className="card gate-card">{children}</main>
          {foot && <footer className="gate-foot">{foot}</footer>}
        </div>
      </body>
    </html>
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
