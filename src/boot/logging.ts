import {
  configureSync,
  type FormattedValues,
  getLogger,
  getTextFormatter,
  jsonLinesFormatter,
  type Logger,
} from "@logtape/logtape"
import type { Config } from "../kernel/config.ts"

/** What a stranger sent may stand in it: only a record begins at the beginning of a line. */
const textOf = ({ timestamp, level, category, message }: FormattedValues): string =>
  `${timestamp} [${level}] ${category}: ${message.replace(lineEnd, "\n    ")}`

const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/**
 * Sends the log to standard error, as text for people or as JSON lines for machines. Standard
 * output stays for what a command answers.
 */
export function openLog({ logLevel, logFormat }: Config): Logger {
  const format = logFormat === "json" ? jsonLinesFormatter : getTextFormatter({ format: textOf })
  configureSync({
    reset: true,
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: "latchkey", lowestLevel: logLevel, sinks: ["stderr"] },
      // The library's own remarks; only what is wrong with the logging itself.
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["stderr"] },
    ],
  })
  return getLogger("latchkey")
}
