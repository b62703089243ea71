import { type ReactNode, useId, useLayoutEffect, useRef } from "react"

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** A click beside it closes nothing: something has been typed. */
  readonly keep?: boolean
  readonly children: ReactNode
}

/** One question above the page. Escape and a click beside it leave everything as it was. */
export function Dialog({ title, onClose, keep, children }: DialogProps) {
  const id = useId()
  return (
    <Modal className="dialog" labelledBy={id} onClose={onClose} keep={keep}>
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
  readonly keep?: boolean | undefined
  readonly children: ReactNode
}

/** What dialogs, the sheet and the search stand on: focus is kept in, and given back. */
export function Modal({ className, label, labelledBy, onClose, keep, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    // Only what closes gives the focus back, not what is taken away.
    return () => dialog?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click closes; Escape does it for keyboards
    <dialog
      ref={ref}
      className={className}
      aria-label={label}
      aria-labelledby={labelledBy}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current && !keep) onClose()
      }}
    >
      <div className="modal-body">{children}</div>
    </dialog>
  )
}
