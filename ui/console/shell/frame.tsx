import { CatchBoundary } from "@tanstack/react-router"
import {
  createContext,
  lazy,
  type ReactNode,
  Suspense,
  useContext,
  useEffect,
  useState,
} from "react"
import { Button, Modal, Skeleton } from "../../kit/index.ts"
import { Icon } from "../app/icon.tsx"
import { Navigation, useIsAccount } from "../app/navigation.tsx"
import { Link, type LinkOptions } from "./link.tsx"
import { type Scope, ScopeContext } from "./scope.ts"
import { t } from "./text.ts"

/** It knows every kind of thing, and is loaded with its first use. */
const Palette = lazy(async () => ({ default: (await import("../app/palette.tsx")).Palette }))

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

type BarProps = Required<Pick<PageProps, "title" | "crumbs" | "owner">>

function Bar({ title, crumbs, owner }: BarProps) {
  return (
    <header className="bar">
      <SheetButton />
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
      {!useIsAccount() && <PaletteButton />}
    </header>
  )
}

function SheetButton() {
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

const OpenSearch = createContext<() => void>(() => {})

/** Around every page, so that the search stays while the page below it is still on its way. */
export function Searching({ children }: { readonly children: ReactNode }) {
  const isAccount = useIsAccount()
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen(true)
    }
    if (!isAccount) document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [isAccount])
  return (
    <OpenSearch value={() => setOpen(true)}>
      {children}
      {isOpen && (
        <CatchBoundary getResetKey={() => ""} errorComponent={() => null} onCatch={close}>
          <Suspense>
            <Palette onClose={close} />
          </Suspense>
        </CatchBoundary>
      )}
    </OpenSearch>
  )
}

function PaletteButton() {
  return (
    <div className="search-open">
      <Button small onClick={useContext(OpenSearch)}>
        <Icon name="search" />
        <span className="search-word">{t("search.open")}</span>
        <kbd>{/mac/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
      </Button>
    </div>
  )
}
