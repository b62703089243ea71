import { errorText } from "../../../kernel/fault.ts"
import { fileError, readText } from "./text.ts"

/** In characters. A YAML file is read as a whole; larger user bases are not kept in such files. */
const charactersMax = 8_000_000

/**
 * Parses a YAML file. Throws if it is invalid, too large, or expands without limit through
 * references.
 */
export async function readYaml(path: string): Promise<unknown> {
  let whole = ""
  for await (const text of readText(path)) {
    whole += text
    if (whole.length > charactersMax)
      throw fileError(`${path} has more than ${charactersMax} characters; split it`)
  }
  try {
    return Bun.YAML.parse(whole)
  } catch (cause) {
    const reason = errorText(cause)
    throw fileError(`${path} is not valid YAML: ${reason}`, cause)
  }
}
