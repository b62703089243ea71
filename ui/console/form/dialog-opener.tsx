import { type ReactNode, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import { May, type Needs } from "../shell/index.ts"

type DialogOpenerProps = Partial<Needs> & {
  readonly label: string
  /** The thing that the dialog is about, where there are several: it is part of the label. */
  readonly name?: string
  readonly title: string
  readonly children: (close: () => void) => ReactNode
}

/** A small button that opens a dialog, which calls `close` to close itself. */
export function DialogOpener({ needs = "own", label, name, title, children }: DialogOpenerProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <May needs={needs}>
        <Button
          small
          kind="plain"
          aria-label={name && `${label}: ${name}`}
          onClick={() => setOpen(true)}
        >
          {label}
        </Button>
      </May>
      {open && (
        <Dialog title={title} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  )
}
