import {
  configureSync,
  getLogger,
  getTextFormatter,
  jsonLinesFormatter,
  type Logger,
} from "@logtape/logtape"
import type { Config } from "../kernel/config.ts"

/**
 * Sends the log to standard error, as text for people or as JSON lines for machines. Standard
 * output stays for what a command answers.
 */
export function openLog({ logLevel, logFormat }: Config): Logger {
  const format = logFormat === "json" ? jsonLinesFormatter : getTextFormatter()
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
