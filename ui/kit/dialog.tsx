import { type ReactNode, useId, useLayoutEffect, useRef } from "react"

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** Whether there is unsaved input, so that clicking outside doesn't close the dialog. */
  readonly isDirty?: boolean
  readonly children: ReactNode
}

/** A modal dialog. Escape and clicking outside close it without changes. */
export function Dialog({ title, onClose, isDirty, children }: DialogProps) {
  const id = useId()
  return (
    <Modal className="dialog" labelledBy={id} onClose={onClose} isDirty={isDirty}>
      <h2 className="dialog-title" id={id}>
        {title}
      </h2>
      {children}
    </Modal>
  )
}

type ModalProps = {
  readonly className: string
  readonly label?: string
  readonly labelledBy?: string
  readonly onClose: () => void
  readonly isDirty?: boolean | undefined
  readonly children: ReactNode
}

/** The base of dialogs, the sheet and the palette: traps the focus and restores it. */
export function Modal({ className, label, labelledBy, onClose, isDirty, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    // Restores the focus only when the dialog closes, not when it is removed.
    return () => dialog?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click closes the dialog; keyboards use Escape
    <dialog
      ref={ref}
      className={className}
      aria-label={label}
      aria-labelledby={labelledBy}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current && !isDirty) onClose()
      }}
    >
      <div className="modal-body">{children}</div>
    </dialog>
  )
}
