import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import type { Needs } from "../shell/may.tsx"
import { May } from "../shell/may.tsx"
import { useText } from "../shell/text.ts"
import { Fields } from "./form.tsx"
import { formId, useOpen } from "./open.ts"
import { useForm } from "./use-form.ts"

type RenameProps = Needs & {
  readonly name: string
  readonly act: (name: string) => Promise<unknown>
}

/** A name that is changed where it stands. */
export function Rename({ needs, name, act }: RenameProps) {
  const { t } = useText()
  const [open, setOpen] = useOpen("rename")
  if (open !== undefined) return <NameForm {...{ name, act, close: () => setOpen(undefined) }} />
  return (
    <>
      {name}
      <May needs={needs}>
        <Button small kind="plain" onClick={() => setOpen("name")}>
          {t("action.rename")}
        </Button>
      </May>
    </>
  )
}

function NameForm(props: Omit<RenameProps, "needs"> & { readonly close: () => void }) {
  const { name, act, close } = props
  const { t } = useText()
  const form = useForm({
    id: formId("rename", "name"),
    initial: { name },
    save: (values) => act(values.name.trim()),
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <TextField label={t("field.name")} {...form.text("name")} required autoFocus />
    </Fields>
  )
}
