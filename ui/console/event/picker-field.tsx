import { type ReactNode, useId, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** What was picked in this tab is called; what the events say comes before. */
const pickedNames = new Map<string, string>()

export type PickedResource = { readonly id: string; readonly name: string }

type PickFieldProps = {
  readonly label: string
  /** An ID; empty for all. */
  readonly value: string
  /** What the events that are shown call it. */
  readonly name: string | undefined
  readonly onChange: (id: string) => void
  readonly children: (choose: (picked: PickedResource) => void) => ReactNode
}

/** One user or resource by its name, chosen in a dialog; its ID is beside it. */
export function PickField({ label, value, name, onChange, children }: PickFieldProps) {
  const [open, setOpen] = useState(false)
  const labelId = useId()
  const choose = (picked: PickedResource) => {
    if (picked.id === "") return
    pickedNames.set(picked.id, picked.name)
    onChange(picked.id)
    setOpen(false)
  }
  const known = name || pickedNames.get(value)
  return (
    <fieldset className="field" aria-labelledby={labelId}>
      <span className="field-label" id={labelId}>
        {label}
      </span>
      <div className="row">
        {value === "" ? (
          <span className="quiet">{t("filter.all")}</span>
        ) : (
          <bdi>{known ?? value}</bdi>
        )}
        {known !== undefined && known !== value && <code className="small">{value}</code>}
        <Button small onClick={() => setOpen(true)} aria-label={`${t("events.choose")}: ${label}`}>
          {t("events.choose")}
        </Button>
        {value !== "" && (
          <Button
            small
            kind="plain"
            onClick={() => onChange("")}
            aria-label={`${t("events.clear")}: ${label}`}
          >
            {t("events.clear")}
          </Button>
        )}
      </div>
      {open && (
        <Dialog title={label} onClose={() => setOpen(false)}>
          <div className="stack">{children(choose)}</div>
        </Dialog>
      )}
    </fieldset>
  )
}
