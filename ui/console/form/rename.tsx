import type { DescMethod } from "@bufbuild/protobuf"
import { Button } from "../../kit/index.ts"
import { IfPermitted, type RequiredPermission, t } from "../shell/index.ts"
import { defineForm } from "./form-of.tsx"
import { formId, useOpenForm } from "./use-open.ts"

type RenameProps = RequiredPermission & {
  readonly name: string
  readonly act: (name: string) => Promise<unknown>
}

/** A labeled name with inline editing. */
export const renameRow = (
  label: string,
  name: string,
  needs: DescMethod,
  act: RenameProps["act"],
) => [label, <Rename key="name" needs={needs} name={name} act={act} />] as const

function Rename({ needs, name, act }: RenameProps) {
  const [open, setOpen] = useOpenForm("rename")
  const form = defineForm({
    initial: { name },
    save: (values) => act(values.name.trim()),
    fields: ({ text }) => text("name", t("field.name"), { required: true, autoFocus: true }),
  })
  if (open) return form({ id: formId("rename", open), close: () => setOpen(undefined) })
  return (
    <>
      {name}
      <IfPermitted needs={needs}>
        <Button small kind="plain" onClick={() => setOpen("name")}>
          {t("action.rename")}
        </Button>
      </IfPermitted>
    </>
  )
}
