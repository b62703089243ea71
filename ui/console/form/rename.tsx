import type { DescMethod } from "@bufbuild/protobuf"
import { Button } from "../../kit/index.ts"
import { May, type Needs, t } from "../shell/index.ts"
import { formOf } from "./form-of.tsx"
import { formId, useOpen } from "./use-open.ts"

type RenameProps = Needs & {
  readonly name: string
  readonly act: (name: string) => Promise<unknown>
}

/** A name, as a fact that is changed where it stands. */
export const renamed = (label: string, name: string, needs: DescMethod, act: RenameProps["act"]) =>
  [label, <Rename key="name" needs={needs} name={name} act={act} />] as const

function Rename({ needs, name, act }: RenameProps) {
  const [open, setOpen] = useOpen("rename")
  const form = formOf({
    initial: { name },
    save: (values) => act(values.name.trim()),
    fields: ({ text }) => text("name", t("field.name"), { required: true, autoFocus: true }),
  })
  if (open) return form({ id: formId("rename", open), close: () => setOpen(undefined) })
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
