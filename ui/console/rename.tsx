import { useState } from "react"
import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { useHouse } from "./house.ts"
import { useAction } from "./load.ts"

type RenameProps = {
  readonly name: string
  readonly act: (name: string) => Promise<void>
}

/** A name that is changed where it stands. */
export function Rename({ name, act }: RenameProps) {
  const { t } = useHouse()
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const action = useAction(async () => {
    await act(typed?.trim() ?? name)
    setTyped(undefined)
  })
  if (typed === undefined) {
    return (
      <>
        {name}
        <Button small kind="plain" onClick={() => setTyped(name)}>
          {t("action.rename")}
        </Button>
      </>
    )
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      <TextField
        label={t("field.name")}
        value={typed}
        error={action.error}
        onChange={(event) => setTyped(event.target.value)}
        maxLength={200}
        autoComplete="off"
        required
        autoFocus
      />
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={action.busy}>
          {t("form.save")}
        </Button>
        <Button onClick={() => setTyped(undefined)}>{t("form.cancel")}</Button>
      </div>
    </form>
  )
}
