import { createContext, type ReactNode, useContext, useEffect } from "react"
import { Skeleton } from "../../kit/index.ts"
import { Link, type LinkOptions } from "./link.tsx"
import { type Scope, ScopeContext } from "./scope.ts"
import { t } from "./text.ts"

export type Crumb = { readonly label: string; readonly link: LinkOptions }

type PageProps = {
  readonly title: string
  readonly crumbs?: readonly Crumb[]
  /** The owner of the page, if it has no breadcrumbs. */
  readonly owner?: ReactNode
  readonly badge?: ReactNode
  readonly actions?: ReactNode
  /** The scope of the page's data, if it isn't the selected organization or a role may be on it. */
  readonly scope?: Scope
  /** Uses a narrow column, for forms. */
  readonly narrow?: boolean
  readonly children: ReactNode
}

/** ID of the main content, which keyboard and screen reader users are moved to. */
export const contentId = "content"

const defaultScope: Scope = {}

/** A page: the bar with breadcrumbs, the title with its actions, and the content. */
export function Page(props: PageProps) {
  const {
    title,
    crumbs = [],
    owner,
    badge,
    actions,
    scope = defaultScope,
    narrow,
    children,
  } = props
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

/** Placeholder while the code or data of a page are loading. */
export function PageLoading() {
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

/** Content that the application adds to the bar of every page, before and after the breadcrumbs. */
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
