copy patients to 'secret'
