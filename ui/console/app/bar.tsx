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

/** It has the descriptors of everything that it finds, so it is loaded with its first use. */
const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }))

const OpenPalette = createContext<() => void>(() => {})

type ChildrenProps = { readonly children: ReactNode }

/** Gives every page in it the buttons of the bar: one for the navigation, one for the palette. */
export function BarControls({ children }: ChildrenProps) {
  return <BarControlsContext value={controls}>{children}</BarControlsContext>
}

const controls = { before: <NavigationButton />, after: <PaletteButton /> }

/** Around every page, so that the palette stays open while the page below it is loaded. */
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
    <OpenPalette value={() => setOpen(true)}>
      {children}
      {isOpen && (
        <CatchBoundary getResetKey={() => ""} errorComponent={() => null} onCatch={close}>
          <Suspense>
            <Palette onClose={close} />
          </Suspense>
        </CatchBoundary>
      )}
    </OpenPalette>
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

/** The account has no palette. */
function PaletteButton() {
  const open = useContext(OpenPalette)
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
