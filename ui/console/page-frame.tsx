import { Fragment, type ReactNode, useEffect, useState } from "react"
import { Button } from "../kit/button.tsx"
import { Modal } from "../kit/dialog.tsx"
import { useHouse } from "./house.ts"
import { Icon } from "./icon.tsx"
import { Link } from "./link.tsx"
import { Navigation } from "./navigation.tsx"
import type { Route } from "./route.ts"
import { Search } from "./search.tsx"

export type Crumb = { readonly label: string; readonly to: Route }

type PageFrameProps = {
  readonly title: string
  readonly crumbs?: readonly Crumb[]
  /** Whose page it is, where that is not the organisation's. */
  readonly owner?: string | undefined
  readonly badge?: ReactNode
  readonly actions?: ReactNode
  /** Forms are easier to follow in a narrow column. */
  readonly narrow?: boolean
  readonly children: ReactNode
}

/** One page: the bar that says where one is, the title with its actions, the content. */
export function PageFrame(props: PageFrameProps) {
  const { title, crumbs = [], owner, badge, actions, narrow, children } = props
  useEffect(() => {
    document.title = `${title} · Latchkey`
  }, [title])
  return (
    <>
      <Bar title={title} crumbs={crumbs} owner={owner} />
      <main className={narrow ? "content content-narrow" : "content"}>
        <div className="page-head">
          <div className="page-head-title">
            <h1>{title}</h1>
            {badge}
          </div>
          {actions && <div className="row">{actions}</div>}
        </div>
        {children}
      </main>
    </>
  )
}

type BarProps = Required<Pick<PageFrameProps, "title" | "crumbs" | "owner">>

function Bar({ title, crumbs, owner }: BarProps) {
  const { t, organization } = useHouse()
  return (
    <header className="bar">
      <SheetButton />
      <nav className="crumbs" aria-label={t("nav.crumbs")}>
        <ol>
          {crumbs.length === 0 && <li className="quiet">{owner ?? organization.name}</li>}
          {crumbs.map((crumb) => (
            <li key={crumb.label}>
              <Link to={crumb.to}>{crumb.label}</Link>
            </li>
          ))}
          <li aria-current="page">{title}</li>
        </ol>
      </nav>
      <SearchButton />
    </header>
  )
}

function SheetButton() {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  return (
    <div className="bar-menu">
      <Button small aria-label={t("nav.open")} onClick={() => setOpen(true)}>
        <Icon name="menu" />
      </Button>
      {open && (
        <Modal className="sheet" label={t("nav.label")} onClose={() => setOpen(false)}>
          <Navigation onFollow={() => setOpen(false)} />
        </Modal>
      )}
    </div>
  )
}

function SearchButton() {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen(true)
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [])
  return (
    <Fragment>
      <div className="search-open">
        <Button small aria-label={t("search.open")} onClick={() => setOpen(true)}>
          <Icon name="search" />
          <span className="search-word">{t("search.open")}</span>
          <kbd>{/mac/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
        </Button>
      </div>
      {open && <Search onClose={() => setOpen(false)} />}
    </Fragment>
  )
}
