import { type ReactNode, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import { IfPermitted, type RequiredPermission } from "../shell/index.ts"

type DialogOpenerProps = Partial<RequiredPermission> & {
  readonly label: string
  /** The resource of the dialog, if there are several; part of the label. */
  readonly name?: string
  readonly title: string
  readonly children: (close: () => void) => ReactNode
}

/** A small button that opens a dialog; the content calls `close`. */
export function DialogOpener({ needs = "own", label, name, title, children }: DialogOpenerProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <IfPermitted needs={needs}>
        <Button
          small
          kind="plain"
          aria-label={name && `${label}: ${name}`}
          onClick={() => setOpen(true)}
        >
          {label}
        </Button>
      </IfPermitted>
      {open && (
        <Dialog title={title} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  )
}
