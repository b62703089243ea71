import { type ReactNode, useState } from "react"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { Dialog } from "../kit/dialog.tsx"
import { TextField } from "../kit/field.tsx"
import { useHouse } from "./house.ts"
import { useAction } from "./load.ts"

type ActionButtonProps = {
  readonly label: string
  readonly act: () => Promise<unknown>
  readonly small?: boolean
  /** Among others in a row: no more than a word. */
  readonly plain?: boolean
}

/** A change that can be undone: it happens at once, and a refusal is said beside it. */
export function ActionButton({ label, act, small, plain }: ActionButtonProps) {
  const action = useAction(act)
  return (
    <>
      <Button
        small={small || plain}
        kind={plain ? "plain" : "normal"}
        onClick={action.run}
        disabled={action.busy}
      >
        {label}
      </Button>
      {action.error && <Alert tone="danger">{action.error}</Alert>}
    </>
  )
}

type ConfirmButtonProps = {
  readonly label: string
  /** What else it is called for those who don't see beside what it stands. */
  readonly what: string
  readonly consequence: ReactNode
  readonly act: () => Promise<unknown>
}

/** Takes one of several things away for good, after saying what that means. */
export function ConfirmButton({ label, what, consequence, act }: ConfirmButtonProps) {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  const action = useAction(async () => {
    await act()
    setOpen(false)
  })
  return (
    <>
      <Button small kind="plain" aria-label={`${label}: ${what}`} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open && (
        <Dialog title={`${label}: ${what}`} onClose={() => setOpen(false)}>
          <p>{consequence}</p>
          {action.error && <Alert tone="danger">{action.error}</Alert>}
          <div className="form-actions">
            <Button kind="danger" disabled={action.busy} onClick={action.run}>
              {label}
            </Button>
            <Button onClick={() => setOpen(false)}>{t("form.cancel")}</Button>
          </div>
        </Dialog>
      )}
    </>
  )
}

type DeleteProps = {
  readonly name: string
  readonly title: string
  readonly consequence: ReactNode
  readonly act: () => Promise<unknown>
}

/** A change that can't be undone asks for the name of what it destroys. */
export function DeleteButton({ name, title, consequence, act }: DeleteProps) {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState("")
  const action = useAction(act)
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {title}
      </Button>
      {open && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <p>{consequence}</p>
          {action.error && <Alert tone="danger">{action.error}</Alert>}
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault()
              action.run()
            }}
          >
            <TextField
              label={t("delete.type_name", { name })}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              autoComplete="off"
              spellCheck={false}
              autoFocus
            />
            <div className="form-actions">
              <Button kind="danger" type="submit" disabled={typed !== name || action.busy}>
                {title}
              </Button>
              <Button onClick={() => setOpen(false)}>{t("form.cancel")}</Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
