import { reasonText } from "../../../kernel/fault.ts"
import { fileError, textOf } from "./text.ts"

/** Letters; a file of YAML is read as a whole, and whoever has more people has a directory. */
const most = 8_000_000

/** A file of YAML. Refuses what is broken, too large, or grows without end by references. */
export async function yamlOf(path: string): Promise<unknown> {
  let whole = ""
  for await (const text of textOf(path)) {
    whole += text
    if (whole.length > most) throw fileError(`${path} has more than ${most} letters; part it`)
  }
  try {
    return Bun.YAML.parse(whole)
  } catch (cause) {
    const why = reasonText(cause)
    throw fileError(`${path} is no YAML that can be read: ${why}`, cause)
  }
}
