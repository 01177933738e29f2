import { UsageError } from '@flowline/core';
import type { Command } from '../command-line/command.js';
import { candidates } from '../command-line/complete.js';
import { completionScripts } from '../command-line/completion-scripts.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'shell', describe: 'bash, zsh or fish', required: true },
    { name: 'words', describe: 'asked by the script: the words so far', variadic: true },
  ],
  examples: [
    ['flow completion bash >> ~/.bashrc', 'for bash'],
    ['flow completion zsh > ~/.zfunc/_flow', 'for zsh'],
    ['flow completion fish > ~/.config/fish/completions/flow.fish', 'for fish'],
  ],
  async run(args, context) {
    if (args.shell === 'words') {
      for (const candidate of await candidates(args.words, context))
        print(context.terminal, candidate);
      return exitCodes.done;
    }
    const script = completionScripts[args.shell as keyof typeof completionScripts];
    if (script === undefined) {
      throw new UsageError(`there is no completion for "${args.shell}"`, {
        hint: 'Expected bash, zsh or fish.',
      });
    }
    print(context.terminal, script);
    return exitCodes.done;
  },
};
