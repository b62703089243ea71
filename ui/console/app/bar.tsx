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
import { Button, Modal } from "../../kit/index.ts"
import { BarControlsContext } from "../shell/frame.tsx"
import { t } from "../shell/text.ts"
import { Icon } from "./icon.tsx"
import { Navigation, useIsAccount } from "./navigation.tsx"

/** Loaded on first use, because it imports the descriptors of all the resources it searches. */
const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }))

const OpenPaletteContext = createContext<() => void>(() => {})

type ChildrenProps = { readonly children: ReactNode }

/** Provides the navigation and palette buttons to the bar of every page. */
export function BarControls({ children }: ChildrenProps) {
  return <BarControlsContext value={barControls}>{children}</BarControlsContext>
}

const barControls = { before: <NavigationButton />, after: <PaletteButton /> }

/** Outside the pages, so that the palette stays open while a page loads. */
export function PaletteProvider({ children }: ChildrenProps) {
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
    <OpenPaletteContext value={() => setOpen(true)}>
      {children}
      {isOpen && (
        <CatchBoundary getResetKey={() => ""} errorComponent={() => null} onCatch={close}>
          <Suspense>
            <Palette onClose={close} />
          </Suspense>
        </CatchBoundary>
      )}
    </OpenPaletteContext>
  )
}

function NavigationButton() {
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

/** Hidden on account pages, which have no palette. */
function PaletteButton() {
  const open = useContext(OpenPaletteContext)
  if (useIsAccount()) return null
  return (
    <div className="search-open">
      <Button small onClick={open}>
        <Icon name="search" />
        <span className="search-word">{t("search.open")}</span>
        <kbd>{/mac/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
      </Button>
    </div>
  )
}
