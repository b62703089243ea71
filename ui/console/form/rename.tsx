import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { useText } from "../shell/text.ts"
import { Fields } from "./form.tsx"
import { formId, useOpen } from "./open.ts"
import { useForm } from "./use-form.ts"

type RenameProps = {
  readonly name: string
  readonly act: (name: string) => Promise<unknown>
}

/** A name that is changed where it stands. */
export function Rename({ name, act }: RenameProps) {
  const { t } = useText()
  const [open, setOpen] = useOpen("rename")
  if (open !== undefined) return <NameForm {...{ name, act, close: () => setOpen(undefined) }} />
  return (
    <>
      {name}
      <Button small kind="plain" onClick={() => setOpen("name")}>
        {t("action.rename")}
      </Button>
    </>
  )
}

function NameForm({ name, act, close }: RenameProps & { readonly close: () => void }) {
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
