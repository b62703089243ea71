import { createContext, type ReactNode, useContext, useEffect } from "react"
import { Skeleton } from "../../kit/index.ts"
import { Link, type LinkOptions } from "./link.tsx"
import { type Scope, ScopeContext } from "./scope.ts"
import { t } from "./text.ts"

export type Crumb = { readonly label: string; readonly link: LinkOptions }

type PageProps = {
  readonly title: string
  readonly crumbs?: readonly Crumb[]
  /** Whose page it is, where it has no crumbs. */
  readonly owner?: ReactNode
  readonly badge?: ReactNode
  readonly actions?: ReactNode
  /** Whose things it shows, where that isn't the chosen organisation's, or a role may be on it. */
  readonly scope?: Scope
  /** Forms are easier to follow in a narrow column. */
  readonly narrow?: boolean
  readonly children: ReactNode
}

/** Where keyboards and screen readers begin on a page. */
export const contentId = "content"

const everywhere: Scope = {}

/** One page: the bar that says where one is, the title with its actions, the content. */
export function Page(props: PageProps) {
  const { title, crumbs = [], owner, badge, actions, scope = everywhere, narrow, children } = props
  useEffect(() => {
    document.title = `${title} · Latchkey`
  }, [title])
  return (
    <ScopeContext value={scope}>
      <Bar title={title} crumbs={crumbs} owner={owner} />
      <main className={narrow ? "content content-narrow" : "content"} id={contentId} tabIndex={-1}>
        <div className="page-head">
          <div className="page-head-title">
            <h1>{title}</h1>
            {badge}
          </div>
          {actions && <div className="row">{actions}</div>}
        </div>
        {children}
      </main>
    </ScopeContext>
  )
}

/** A page whose code or content is on its way. */
export function Waiting() {
  return (
    <>
      <Bar title="…" crumbs={[]} owner={undefined} />
      <main className="content" id={contentId} tabIndex={-1} aria-busy="true">
        <Skeleton rows={6} label={t("list.loading")} />
      </main>
    </>
  )
}

type BarControls = { readonly before: ReactNode; readonly after: ReactNode }

/** What the application places in the bar of every page: before and after the crumbs. */
export const BarControlsContext = createContext<BarControls>({ before: null, after: null })

type BarProps = Required<Pick<PageProps, "title" | "crumbs" | "owner">>

function Bar({ title, crumbs, owner }: BarProps) {
  const { before, after } = useContext(BarControlsContext)
  return (
    <header className="bar">
      {before}
      <nav className="crumbs" aria-label={t("nav.crumbs")}>
        <ol>
          {crumbs.length === 0 && owner && <li className="quiet">{owner}</li>}
          {crumbs.map(({ label, link }) => (
            <li key={label}>
              <Link {...link}>{label}</Link>
            </li>
          ))}
          <li aria-current="page">{title}</li>
        </ol>
      </nav>
      {after}
    </header>
  )
}
